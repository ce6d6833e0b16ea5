// A difference with its sign.

/** `+1.20` or `−1.20`; what is too small to be written has no sign. */
export function signed(by: number, write: (size: number) => string): string {
  const size = write(Math.abs(by));
  return by === 0 || size.startsWith("<") ? size : `${by < 0 ? "−" : "+"}${size}`;
}
