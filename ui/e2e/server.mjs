// A server of the built command for a test: started, asked and stopped as a person's would be.
import { spawn } from "node:child_process";
import { once } from "node:events";

const READY_POLL_MS = 200;

/** Serves what lies at the paths, and returns when every run can be looked at. */
export async function startServer(stepscope, paths, { environment = {} } = {}) {
  const child = spawn(stepscope, ["open", ...paths, "--no-open", "--quiet"], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
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
  while ((await Promise.race([askJson("api/session"), failed])).runs.some((run) => run.state === "reading"))
    await new Promise((resume) => setTimeout(resume, READY_POLL_MS));
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
