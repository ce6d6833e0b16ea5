// Time of script in each frame, from a recording of the browser itself.
//
// Counted is the processor time of the main thread inside of script: handlers, timers, promises, frame callbacks and
// the collection of garbage. Not counted is what a machine without a graphics card adds and a user's has not: raster
// and WebGL in software run in other threads and processes, and waiting for them, or for a core that others hold, is
// no processor time of ours. The time by the clock is told beside it.

export const CATEGORIES = ["devtools.timeline", "v8", "toplevel"];

const SCRIPT = new Set([
  "BlinkScheduler_PerformMicrotaskCheckpoint",
  "EvaluateScript",
  "EventDispatch",
  "FireAnimationFrame",
  "FireIdleCallback",
  "FunctionCall",
  "MajorGC",
  "MinorGC",
  "TimerFire",
  "v8.callFunction",
  "v8.run",
]);

/** Milliseconds of script in each frame of the page that drew most frames: on the processor, and by the clock. */
export function scriptTimes(recording) {
  const { traceEvents } = JSON.parse(recording);
  const frames = [];
  let frame = { cpuMs: 0, wallMs: 0 };
  let end = 0;
  for (const event of threadOfFrames(traceEvents)) {
    if (event.ph !== "X") continue;
    // The last that the main thread does for a frame.
    if (event.name === "Layerize") {
      frames.push(frame);
      frame = { cpuMs: 0, wallMs: 0 };
    }
    // What runs inside of something counted is counted with it.
    if (!SCRIPT.has(event.name) || event.ts < end) continue;
    end = event.ts + event.dur;
    frame.cpuMs += (event.tdur ?? event.dur) / 1000;
    frame.wallMs += event.dur / 1000;
  }
  // The first frame has what came before the recording.
  return frames.slice(1);
}

/** Events of the thread that draws, in the order they begin; what holds others comes before them. */
function threadOfFrames(events) {
  const threads = new Map();
  for (const event of events) {
    const key = `${event.pid} ${event.tid}`;
    const thread = threads.get(key) ?? { frames: 0, events: [] };
    threads.set(key, thread);
    thread.events.push(event);
    if (event.name === "FireAnimationFrame") thread.frames++;
  }
  const [best] = [...threads.values()].sort((a, b) => b.frames - a.frames);
  return best.events.sort((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0));
}
