// Frames of call stacks, as people write them: `conv.py(440): _conv_forward`.

/** `/srv/me/torch/nn/modules/conv.py(440): _conv_forward` → `conv.py(440): _conv_forward`; other texts stay. */
export function frameLabel(frame: string): string {
  // A place is a file, a line in parentheses and a function; what stands before the last separator are folders.
  const place = /^(.*?)\((\d+)\): /.exec(frame);
  if (!place) return frame;
  const file = place[1]!;
  const cut = Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\")) + 1;
  return frame.slice(cut);
}

/** The frames of a stack from the innermost to the outermost; the server begins with the outermost. */
export function innermostFirst(stack: readonly string[]): string[] {
  return stack.toReversed();
}
