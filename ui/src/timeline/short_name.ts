// What an event is called where its whole name is a hover away.
import { frameLabel } from "../format/frames";
import { shortKernelName } from "../format/kernel_name";

/** The kind is that of `spans`. */
export function shortName(kind: string, name: string): string {
  return kind === "py" ? frameLabel(name) : kind === "kernel" ? shortKernelName(name) : name;
}
