// A server of the built command for a test: started, asked and stopped as a person's would be.
import { spawn } from "node:child_process";
import { once } from "node:events";

const READY_POLL_MS = 200;

const isNoneReading = (runs) => runs.every((run) => run.state !== "reading");

/** Serves what lies at the paths, and returns when every run can be looked at, or enough of them. It ends with this process. */
export async function startServer(stepscope, paths, isEnough = isNoneReading) {
  const child = spawn(stepscope, ["open", ...paths, "--no-open", "--quiet"], { stdio: ["ignore", "pipe", "pipe"] });
  const gone = once(child, "exit");
  let errors = "";
  child.stderr.on("data", (text) => (errors += text));
  const failed = gone.then(([code]) => {
    throw new Error(`the server ended with ${code}: ${errors.trim()}`);
  });
  failed.catch(() => undefined);
  const [line] = await Promise.race([once(child.stdout, "data"), failed]);
  const url = new URL(String(line).trim());
  const headers = { authorization: `Bearer ${url.searchParams.get("token")}` };
  const ask = (address, init = {}) =>
    fetch(new URL(address, url), { ...init, headers: { ...headers, ...init.headers } });
  const askJson = async (address) => (await ask(address)).json();
  process.once("exit", () => child.kill("SIGKILL"));
  let runs;
  do {
    await new Promise((resume) => setTimeout(resume, READY_POLL_MS));
    ({ runs } = await Promise.race([askJson("api/session"), failed]));
  } while (runs.length === 0 || !isEnough(runs));
  return {
    url: url.href,
    pid: child.pid,
    ask,
    askJson,
    stop: async () => {
      child.kill("SIGINT");
      await gone;
    },
  };
}
