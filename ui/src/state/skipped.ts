// Files beside the traces that were not read, in a few words.
import type { SkippedFile } from "../server/types";

/** How many there are, and whether any may be a trace. */
export function skippedTitle(files: SkippedFile[]): string {
  const unreadable = files.filter((file) => file.is_unreadable).length;
  const parts = [
    unreadable > 0 ? `${counted(unreadable)} cannot be read` : "",
    files.length > unreadable ? `${counted(files.length - unreadable)} not a trace that Stepscope reads` : "",
  ];
  return parts.filter((part) => part !== "").join(", ");
}

function counted(count: number): string {
  return count === 1 ? "1 file" : `${count} files`;
}
