// Asks the server. Every address is relative, so that the page works under any path.
import { createSignal } from "solid-js";
import { answerTo } from "./answer_to";
import { parseExact } from "./exact_json";

export { isAborted, ServerError } from "./answer_to";

const [pending, setPending] = createSignal(0);

/** How many questions are open; the hairline under the top bar follows it. */
export const openQuestions = pending;

export async function askJson<T>(address: string, signal?: AbortSignal): Promise<T> {
  const response = await ask(address, { signal });
  return parseExact(await response.text()) as T;
}

/** For answers of many numbers, none of which is as long as a point in time. */
export async function askNumbers<T>(address: string, signal?: AbortSignal): Promise<T> {
  const response = await ask(address, { signal });
  return (await response.json()) as T;
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

function ask(address: string, init: RequestInit): Promise<Response> {
  return counted(() => answerTo(address, init));
}

/** Counts a question among the open ones until it is answered. */
export async function counted<T>(question: () => Promise<T>): Promise<T> {
  setPending((count) => count + 1);
  try {
    return await question();
  } finally {
    setPending((count) => count - 1);
  }
}
