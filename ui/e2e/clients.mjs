// Whether a server gives memory back: node e2e/clients.mjs --stepscope BIN [--seconds 60] PATH…
// Ten clients ask at random, some of them hanging up half-way. What the server holds afterward may be at most a tenth
// more than before: the most it held at rest after every question once, which fills what it keeps for good, and after
// two rounds of random ones that are as long. How far free memory lies scattered is chance, and moves from round to round
// without growing. So a server that holds more is asked again: what was lost never comes back, and what was chance does.
import { parseArgs } from "node:util";
import { privateBytes } from "./memory.mjs";
import { randomNumbers } from "./random.mjs";
import { startServer } from "./server.mjs";

const CLIENTS = 10;
const WARM_UP_ROUNDS = 2;
const MOST_ROUNDS = 5;
/** Threads that nobody needs end after 10 s, and the allocator keeps what they leave for 10 s more. */
const PAUSE_MS = 30_000;
const MOST_GROWTH = 1.1;
const HANG_UP_SHARE = 0.1;
const HANG_UP_MS = 20;
/** No question takes as long; one that does is stuck. */
const STUCK_MS = 60_000;

const ANALYSES = `summary diagnose critical steps ops kernels memory transfers comms modules regions launches tracks health
  schema`.split(/\s+/);
const STATEMENTS = [
  "SELECT name, count(*) AS count, sum(dur_ns) AS total_ns FROM spans GROUP BY name ORDER BY total_ns DESC",
  "SELECT * FROM spans ORDER BY dur_ns DESC",
  "SELECT * FROM ops_by_name",
  "SELECT nothing FROM spans",
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { stepscope: { type: "string" }, seconds: { type: "string", default: "60" } },
});
if (!values.stepscope || positionals.length === 0) {
  console.error("error: what is asked is missing; node e2e/clients.mjs --stepscope BIN PATH…");
  process.exit(2);
}

const roundSeconds = Number(values.seconds);
const server = await startServer(values.stepscope, positionals);
const sources = await recordings();
await askEverything();
const answers = { answered: 0, left: 0, failed: new Set() };
const atRest = [];
for (let round = 1; round <= WARM_UP_ROUNDS; round++) {
  await load(roundSeconds, round, answers);
  atRest.push(await restingBytes());
}
const before = Math.max(...atRest);
const afterward = [];
do {
  await load(roundSeconds, WARM_UP_ROUNDS + afterward.length + 1, answers);
  afterward.push(await restingBytes());
} while (afterward.at(-1) > MOST_GROWTH * before && afterward.length < MOST_ROUNDS);
await server.stop();

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
const listed = (sizes) => sizes.map(megabytes).join(", ");
const growth = afterward.at(-1) / before;
const seconds = (atRest.length + afterward.length) * roundSeconds;
console.log(`${CLIENTS} clients for ${seconds} s: ${answers.answered} answers, ${answers.left} left half-way`);
console.log(`memory before ${listed(atRest)}; after ${listed(afterward)}, ${growth.toFixed(3)} of the most before`);
if (answers.failed.size > 0) console.error(`failed: ${[...answers.failed].join("\nfailed: ")}`);
if (growth > MOST_GROWTH) console.error(`failed: more than ${MOST_GROWTH} times the most memory before`);
process.exit(growth > MOST_GROWTH || answers.failed.size > 0 ? 1 : 0);

async function recordings() {
  const { runs } = await server.askJson("api/session");
  const all = runs.flatMap(({ run, sources }) => sources.map(({ rank, window }) => ({ run, rank, window })));
  return Promise.all(
    all.map(async (source) => ({ ...source, outline: await server.askJson(address(source, "timeline")) })),
  );
}

function address({ run, rank, window }, path, parameters = "") {
  return `api/runs/${encodeURIComponent(run)}/${path}?rank=${rank}&window=${window}${parameters}`;
}

/** All clients for so many seconds; `answers` counts what came of their questions. */
async function load(seconds, seed, answers) {
  const end = performance.now() + 1000 * seconds;
  const client = async (random) => {
    while (performance.now() < end) {
      const [question, init] = anyQuestion(random);
      const isLeft = random() < HANG_UP_SHARE;
      const status = await askUntil(isLeft ? HANG_UP_MS : STUCK_MS, question, init);
      if (status !== undefined) answers.answered++;
      else if (isLeft) answers.left++;
      else answers.failed.add(`${question}: no answer in ${STUCK_MS / 1000} s`);
      if (status >= 500) answers.failed.add(`${question}: ${status}`);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, place) => client(randomNumbers(100 * seed + place))));
}

/** The status of an answer that came as a whole; undefined if it was given up before. */
async function askUntil(milliseconds, question, init) {
  const stop = new AbortController();
  // What is given up is not waited for: the client of Node does not always end a question that it aborts.
  const givenUp = new Promise((resolve) => stop.signal.addEventListener("abort", () => resolve(undefined)));
  const timer = setTimeout(() => stop.abort(), milliseconds);
  const asked = server.ask(question, { ...init, signal: stop.signal }).then(async (answer) => {
    await answer.arrayBuffer();
    return answer.status;
  });
  // Whatever happens to it after it was given up.
  asked.catch(() => undefined);
  try {
    return await Promise.race([asked, givenUp]);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** Every kind of question about every recording once. */
async function askEverything() {
  const questions = sources.flatMap((source) => [
    ...ANALYSES.map((name) => [address(source, `analyses/${name}`)]),
    ...questionsOf(source, source.outline.tracks[0].track, "", "conv", 1),
    ...STATEMENTS.map((statement) => statementOf(source, statement)),
  ]);
  const client = async () => {
    for (let question = questions.pop(); question; question = questions.pop())
      await (await server.ask(...question)).arrayBuffer();
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

function anyQuestion(random) {
  const one = (list) => list[Math.floor(random() * list.length)];
  const source = one(sources);
  const length = source.outline.end_ns * random() ** 4;
  const from = Math.round(random() * (source.outline.end_ns - length));
  const range = `&from=${from}&to=${Math.ceil(from + length) + 1}`;
  const word = one(["conv", "aten", "nccl", "a"]);
  return one([
    [address(source, `analyses/${one(ANALYSES)}`)],
    [address(source, `analyses/${one(ANALYSES)}`, range)],
    ...questionsOf(source, one(source.outline.tracks).track, range, word, Math.floor(random() * 9000)),
    statementOf(source, one(STATEMENTS)),
  ]);
}

/** What the page asks about a recording besides analyses. */
function questionsOf(source, track, range, word, span) {
  const { run, rank, window } = source;
  return [
    [address(source, "timeline")],
    [address(source, `timeline/tracks/${track}`, `${range}&width=1400`)],
    [address(source, "timeline/counters", `${range}&width=1400`)],
    [address(source, "search", `&q=${word}`)],
    [`api/runs/${encodeURIComponent(run)}/spans/${rank}.${window}.${span}`],
  ];
}

function statementOf({ run }, statement) {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ statement, limit: 10_000 });
  return [`api/runs/${encodeURIComponent(run)}/sql`, { method: "POST", headers, body }];
}

/** What the server alone holds when nobody asks. */
async function restingBytes() {
  await new Promise((resume) => setTimeout(resume, PAUSE_MS));
  return privateBytes(server.pid);
}
