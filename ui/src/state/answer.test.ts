import { createRoot, createSignal } from "solid-js";
import { expect, test } from "vitest";
import { createAnswer } from "./answer";

const soon = () => new Promise((resolve) => setTimeout(resolve));

function asked() {
  const [question, setQuestion] = createSignal<string | undefined>("a");
  const open: { question: string; answer: (text: string) => void; fail: (error: Error) => void }[] = [];
  const [state, retry] = createRoot(() =>
    createAnswer(question, (question) => new Promise<string>((answer, fail) => open.push({ question, answer, fail }))),
  );
  return { setQuestion, open, state, retry };
}

test("an answer counts only for what is asked now", async () => {
  const { setQuestion, open, state } = asked();
  open[0]!.answer("answer to a");
  await soon();
  expect(state.latest).toBe("answer to a");
  setQuestion("b");
  expect([state.latest, state.former]).toEqual([undefined, "answer to a"]);
  open[1]!.answer("answer to b");
  await soon();
  expect([state.latest, state.former]).toEqual(["answer to b", undefined]);
});

test("a late answer to what was asked before is dropped", async () => {
  const { setQuestion, open, state } = asked();
  setQuestion("b");
  open[1]!.answer("answer to b");
  open[0]!.answer("answer to a");
  await soon();
  expect(state.latest).toBe("answer to b");
});

test("a failure leaves no answer behind, and a new question no failure", async () => {
  const { setQuestion, open, state } = asked();
  open[0]!.answer("answer to a");
  await soon();
  setQuestion("b");
  open[1]!.fail(new Error("no"));
  await soon();
  expect([state.latest, state.former, String(state.error)]).toEqual([undefined, undefined, "Error: no"]);
  setQuestion("c");
  expect(state.error).toBeUndefined();
});

test("nothing asked is nothing answered", async () => {
  const { setQuestion, open, state } = asked();
  open[0]!.answer("answer to a");
  await soon();
  setQuestion(undefined);
  expect([state.latest, state.former]).toEqual([undefined, undefined]);
});

test("what is asked of a run that has changed waits for the new state", async () => {
  const { open, state } = asked();
  open[0]!.fail(new DOMException("the run has changed", "AbortError") as unknown as Error);
  await soon();
  expect([state.latest, state.error]).toEqual([undefined, undefined]);
});
