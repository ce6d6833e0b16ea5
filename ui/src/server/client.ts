// Asks the server. Every address is relative, so that the page works under any path.
import { createSignal } from "solid-js";
import { answerTo, OutdatedError } from "./answer_to";
import { parseExact } from "./exact_json";
import { tellOutdated } from "./revisions";

export { isAborted, OutdatedError, ServerError } from "./answer_to";

const [pending, setPending] = createSignal(0);

/** How many questions are open; the hairline under the top bar follows it. */
export const openQuestions = pending;

export async function askJson<T>(address: string, signal?: AbortSignal, revision?: number): Promise<T> {
  const response = await ask(address, { signal }, revision);
  return parseExact(await response.text()) as T;
}

/** For answers of many numbers, none of which is as long as a point in time. */
export async function askNumbers<T>(address: string, signal?: AbortSignal, revision?: number): Promise<T> {
  const response = await ask(address, { signal }, revision);
  return (await response.json()) as T;
}

export async function postJson<T>(
  address: string,
  body: unknown,
  signal?: AbortSignal,
  revision?: number,
): Promise<T> {
  const headers = { "content-type": "application/json" };
  const response = await ask(address, { method: "POST", headers, body: JSON.stringify(body), signal }, revision);
  return parseExact(await response.text()) as T;
}

function ask(address: string, init: RequestInit, revision: number | undefined): Promise<Response> {
  return counted(() => answerTo(address, init, revision));
}

/** Counts a question among the open ones until it is answered. */
export async function counted<T>(question: () => Promise<T>): Promise<T> {
  setPending((count) => count + 1);
  try {
    return await question();
  } catch (error) {
    if (error instanceof OutdatedError) tellOutdated();
    throw error;
  } finally {
    setPending((count) => count - 1);
  }
}
