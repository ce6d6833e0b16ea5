// One question to the server, here or in a worker.
import type { Problem } from "./types";

/** What the server says when it cannot answer, in the words of the terminal. */
export class ServerError extends Error {
  constructor(
    readonly problem: Problem,
    readonly status: number,
  ) {
    super(problem.message);
  }

  /** One that the page noticed by itself. */
  static of(message: string, hint: string | null = null, status = 0): ServerError {
    return new ServerError({ message, location: null, hint }, status);
  }
}

/** The run has changed since the page heard of it. Nobody waits for this answer any more: all is asked again. */
export class OutdatedError extends DOMException {
  constructor() {
    super("the run has changed", "AbortError");
  }
}

export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** The answer, if it is one, and from the wanted revision of its run. */
export async function answerTo(address: string, init: RequestInit, revision?: number): Promise<Response> {
  try {
    const response = await fetch(address, init);
    if (!response.ok) throw await refusal(response);
    if (isOutdated(response.headers.get("stepscope-revision"), revision)) throw new OutdatedError();
    return response;
  } catch (error) {
    if (error instanceof ServerError || isAborted(error)) throw error;
    throw ServerError.of("the server does not answer", "check that stepscope open is still running");
  }
}

/** Whether an answer says that it is from another revision than the wanted one. */
export function isOutdated(told: string | null, wanted: number | undefined): boolean {
  return told !== null && wanted !== undefined && Number(told) !== wanted;
}

async function refusal(response: Response): Promise<ServerError> {
  try {
    const { error } = await response.json();
    return new ServerError(error, response.status);
  } catch {
    return ServerError.of(`the server answered with status ${response.status}`, null, response.status);
  }
}
