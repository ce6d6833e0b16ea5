// One question to the server, here or in a worker.

/** What the server says when it cannot answer, in the words of the terminal. */
export class ServerError extends Error {
  constructor(
    message: string,
    readonly hint: string | null,
    readonly status: number,
  ) {
    super(message);
  }
}

export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** The answer, if it is one. */
export async function answerTo(address: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(address, init);
    if (!response.ok) throw await refusal(response);
    return response;
  } catch (error) {
    if (error instanceof ServerError || isAborted(error)) throw error;
    throw new ServerError("the server does not answer", "is stepscope open still running?", 0);
  }
}

async function refusal(response: Response): Promise<ServerError> {
  try {
    const { error } = await response.json();
    return new ServerError(error.message, error.hint, response.status);
  } catch {
    return new ServerError(`the server answered with status ${response.status}`, null, response.status);
  }
}
