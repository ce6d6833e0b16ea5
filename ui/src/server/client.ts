// Asks the server. Every address is relative, so that the page works under any path.
import { createSignal } from "solid-js";
import { parseExact } from "./exact_json";

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

const [pending, setPending] = createSignal(0);

/** How many questions are open; the hairline under the top bar follows it. */
export const openQuestions = pending;

export async function askJson<T>(address: string, signal?: AbortSignal): Promise<T> {
  const response = await ask(address, { signal });
  return parseExact(await response.text()) as T;
}

export async function askBytes(address: string, signal?: AbortSignal): Promise<Uint8Array> {
  const response = await ask(address, { signal });
  return new Uint8Array(await response.arrayBuffer());
}

export async function postJson<T>(address: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const response = await ask(address, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
  return parseExact(await response.text()) as T;
}

export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

async function ask(address: string, init: RequestInit): Promise<Response> {
  setPending((count) => count + 1);
  try {
    const response = await fetch(address, init);
    if (!response.ok) throw await refusal(response);
    return response;
  } catch (error) {
    if (error instanceof ServerError || isAborted(error)) throw error;
    throw new ServerError("the server does not answer", "is stepscope open still running?", 0);
  } finally {
    setPending((count) => count - 1);
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
