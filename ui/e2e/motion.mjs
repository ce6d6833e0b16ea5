// What a moving timeline does, frame by frame. `watchFrames` runs in the page before anything else does; it compares
// what the board says it looks at (`data-view`) with what it says it has drawn (`data-drawn`).

/** Counts frames and inputs between `watch.start()` and `watch.stop()`; runs inside the page. */
export function watchFrames() {
  const watch = { firstPaintMs: undefined, frames: 0, current: 0, inputs: 0, prompt: 0 };
  globalThis.watch = watch;
  const board = () => document.querySelector(".board");
  const nextFrame = globalThis.requestAnimationFrame.bind(globalThis);
  let isRunning = false;
  let isCurrent = false;
  let waiting = [];

  const look = () => {
    isCurrent = board()?.dataset.drawn !== undefined && board().dataset.view === board().dataset.drawn;
    if (!isCurrent) return;
    watch.inputs += waiting.length;
    // The frame that follows an input is its first one.
    watch.prompt += waiting.filter((frame) => watch.frames - frame < 2).length;
    waiting = [];
  };
  // The page draws in callbacks of its own, so what a frame shows is known when the last of them is done.
  globalThis.requestAnimationFrame = (callback) =>
    nextFrame((time) => {
      callback(time);
      look();
      // The frame is on screen when the next one begins.
      if (watch.firstPaintMs === undefined && isCurrent) nextFrame(() => (watch.firstPaintMs ??= performance.now()));
    });
  // Ours is the first callback of a frame: it closes the one before.
  const count = () => {
    if (!isRunning) return;
    watch.frames++;
    if (isCurrent) watch.current++;
    look();
    nextFrame(count);
  };
  for (const kind of ["wheel", "keydown"])
    addEventListener(kind, () => isRunning && waiting.push(watch.frames), { capture: true, passive: true });
  watch.start = () => {
    isRunning = true;
    nextFrame(() => (look(), nextFrame(count)));
  };
  watch.stop = () => {
    isRunning = false;
    return { ...watch };
  };
}

/** A hand does not wait for the screen: this long between two inputs. */
const BETWEEN_MS = 16;

/** Zooms and pans with wheel and keys over a box of the page, deep into the recording and back. */
export async function moveAround(page, box, seconds, random) {
  const isDone = ((end) => () => performance.now() > end)(performance.now() + 1000 * seconds);
  const sent = [];
  const repeat = async (times, input) => {
    for (let i = 0; i < times && !isDone(); i++) {
      sent.push(input());
      await new Promise((resume) => setTimeout(resume, BETWEEN_MS));
    }
    // What was sent has arrived before the next key goes down.
    await Promise.all(sent.splice(0));
  };
  const wheel = async (modifier, times, y) => {
    await page.keyboard.down(modifier);
    await repeat(times, () => page.mouse.wheel(0, y));
    await page.keyboard.up(modifier);
  };
  const press = (key, times) => repeat(times, () => page.keyboard.press(key));
  while (!isDone()) {
    const deep = 10 + Math.floor(random() * 40);
    await page.mouse.move(box.x + (0.2 + 0.6 * random()) * box.width, box.y + box.height / 2);
    await wheel("Control", deep, -100);
    await wheel("Shift", 30, random() < 0.5 ? -60 : 60);
    await press("d", 6);
    await press("w", 5);
    await press("a", 10);
    await wheel("Control", deep + 11, 100);
    await press("s", 3);
  }
}
