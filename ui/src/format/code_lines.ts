// Lines of code as snapshots name them: `/srv/me/model.py:39 forward`.

/** `/srv/me/model.py:39 forward` → `model.py:39 forward`; other texts stay. */
export function lineLabel(line: string): string {
  return line.replace(/^[^:]*[/\\](?=[^/\\:]+:\d+ )/, "");
}

export type ShownFrame = { text: string; isPython: boolean };

/** Frames of a stack, one per line. A frame of C++ says less about who asks for memory. */
export function framesIn(frames: string): ShownFrame[] {
  return frames
    .split("\n")
    .filter((frame) => frame !== "")
    .map((text) => ({ text, isPython: /\.py:\d+ /.test(text) }));
}
