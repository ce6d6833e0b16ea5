// The part of a kernel's name that tells it apart.
//
// A C++ name loses its return type, namespaces, leading scalar template types and arguments. Kernels that only carry a
// functor are called after the functor: `AddFunctor<float> (vectorized_elementwise)`. Names that are no C++ stay as
// they are. The terminal shortens them by the same rules.

/** Kernels that apply a functor to elements; people look for the functor. */
const WRAPPERS = new Set([
  "elementwise_kernel",
  "elementwise_kernel_manual_unroll",
  "elementwise_kernel_with_index",
  "index_elementwise_kernel",
  "legacy_elementwise_kernel",
  "multi_tensor_apply_kernel",
  "reduce_kernel",
  "unrolled_elementwise_kernel",
  "vectorized_elementwise_kernel",
  "vectorized_templated_elementwise_kernel",
]);

/** Templates around a functor that say nothing about it. */
const TRANSPARENT = new Set([
  "AUnaryFunctor",
  "BUnaryFunctor",
  "BinaryFunctor",
  "Kernel",
  "Kernel2",
  "ReduceOp",
  "apply",
  "device_kernel",
  "func_wrapper_t",
  "gpu_index_kernel",
  "gpu_kernel_impl",
  "gpu_kernel_impl_nocast",
  "opmath_gpu_kernel",
]);

const SCALARS = /^(void|bool|char|short|int|uint|long|unsigned|signed|const|float|double|half|Half|hip_bfloat|size)$/;

/** Names come from traces: whoever nests deeper than this gets the text as it is. */
const DEEPEST = 24;

const known = new Map<string, string>();

/** The name without what most kernels share. */
export function shortKernelName(name: string): string {
  let short = known.get(name);
  if (short === undefined) {
    if (known.size > 5000) known.clear();
    known.set(name, (short = shorten(name)));
  }
  return short;
}

function shorten(name: string): string {
  const text = name.replace(/ \[clone \.kd\]$/, "").trim();
  const isPlain = !text.includes("::") && !text.includes("<") && !isCall(text);
  if (isPlain || !isBalanced(text)) return text.replace(/^void /, "");
  const main = mainPart(withoutReturnType(text));
  const [base, inner] = splitTemplate(main);
  const functor = WRAPPERS.has(base) && inner !== null ? functorOf(inner, 0) : null;
  if (functor !== null) return `${functor} (${base.replace("_kernel", "")})`;
  return (base === "kernel" ? namespaceBefore(text, main) : "") + simple(main, 0);
}

/** The last namespace before the name with the colons, for a name that says nothing alone: `gemvx::`. */
function namespaceBefore(text: string, main: string): string {
  const before = text.slice(0, Math.max(0, text.indexOf(main)));
  return /[^: )>]*:*$/.exec(before)?.[0] ?? "";
}

/** Whether the text is a name with arguments; `Memcpy DtoD (Device -> Device)` is not. */
function isCall(text: string): boolean {
  return text.endsWith(")") && /^[^(]*[\p{L}\p{N}_]\(/u.test(text);
}

/** What a character does to the depth of brackets; the `>` of an arrow closes nothing. */
function change(text: string, place: number): number {
  const letter = text[place] ?? "";
  if ("<({[".includes(letter)) return 1;
  if (letter === ">" && text[place - 1] === "-") return 0;
  return ">)}]".includes(letter) ? -1 : 0;
}

/** The places that lie outside of all brackets, the outermost brackets included. */
function outside(text: string): number[] {
  const places: number[] = [];
  let depth = 0;
  for (let place = 0; place < text.length; place++) {
    const was = depth;
    depth += change(text, place);
    if (Math.min(was, depth) === 0) places.push(place);
  }
  return places;
}

function isBalanced(text: string): boolean {
  let depth = 0;
  for (let place = 0; place < text.length; place++) {
    depth += change(text, place);
    if (depth < 0) return false;
  }
  return depth === 0;
}

/** The last space outside of brackets and before the arguments ends the return type. */
function withoutReturnType(text: string): string {
  const isArguments = (place: number) => text[place] === "(" && /[\p{L}\p{N}_>]$/u.test(text.slice(0, place));
  const callee = text.slice(0, outside(text).find(isArguments) ?? text.length);
  const space = outside(callee).findLast((place) => callee[place] === " ");
  return space === undefined ? text : text.slice(space + 1);
}

/** Of a path, the last part that has a name of its own: no lambda, no call operator. */
function mainPart(text: string): string {
  const parts: string[] = [];
  let start = 0;
  for (const place of outside(text)) {
    if (place >= start && text.startsWith("::", place)) {
      parts.push(text.slice(start, place));
      start = place + 2;
    }
  }
  parts.push(text.slice(start));
  return (parts.findLast((part) => !/^([{('])/.test(part) && !part.startsWith("operator()")) ?? text).trim();
}

/** `name<a, b>(c)` → `name` and `a, b`. */
function splitTemplate(part: string): [string, string | null] {
  const places = outside(part);
  const start = places.find((place) => part[place] === "<" || part[place] === "(");
  if (start === undefined) return [part, null];
  if (part[start] === "(") return [part.slice(0, start), null];
  const close = places.find((place) => place > start && part[place] === ">");
  return [part.slice(0, start), close === undefined ? null : part.slice(start + 1, close).trim()];
}

function splitArguments(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (const place of outside(text)) {
    if (text[place] !== ",") continue;
    parts.push(text.slice(start, place).trim());
    start = place + 1;
  }
  parts.push(text.slice(start).trim());
  return parts;
}

/** The first template argument that does something. */
function functorOf(inner: string, depth: number): string | null {
  const doesSomething = (argument: string) => {
    const [base] = splitTemplate(mainPart(argument));
    return !isScalar(argument) && !isValue(argument) && !base.endsWith("Metadata") && base !== "";
  };
  const found = splitArguments(inner).find(doesSomething);
  return found === undefined ? null : simple(mainPart(found), depth + 1);
}

/** A type or function without namespaces, arguments and leading scalar types. */
function simple(main: string, depth: number): string {
  if (depth > DEEPEST) return main;
  const [base, inner] = splitTemplate(main);
  if (inner === null) return base;
  const functor = TRANSPARENT.has(base) ? functorOf(inner, depth) : null;
  if (functor !== null) return functor;
  const all = splitArguments(inner);
  const leading = all.findIndex((argument) => !isScalar(argument));
  const shown = all.slice(Math.max(0, leading)).map((argument) => simpleArgument(argument, depth + 1));
  return `${base}<${shown.join(", ")}>`;
}

function simpleArgument(argument: string, depth: number): string {
  // An enumerator: `(cudnnKernelDataType_t)0`.
  if (isValue(argument)) return argument.slice(argument.lastIndexOf(")") + 1);
  const pointer = argument.replace(/[*&]+$/, "");
  return simple(mainPart(pointer), depth) + argument.slice(pointer.length);
}

function isValue(argument: string): boolean {
  const value = argument.startsWith("(") ? argument.slice(argument.lastIndexOf(")") + 1) : argument;
  return value === "true" || value === "false" || /^-?\d/.test(value);
}

function isScalar(argument: string): boolean {
  const words = argument.split(/[ *&]/).filter((word) => word !== "");
  return words.length > 0 && words.every(isScalarWord);
}

function isScalarWord(text: string): boolean {
  const word = text.slice(text.lastIndexOf("::") + (text.includes("::") ? 2 : 1)).replace(/^_+/, "");
  const base = word.replace(/_t$/, "").replace(/\d+$/, "");
  return ["BFloat16", "nv_bfloat16", "nv_bfloat162", "bf16_t"].includes(word) || SCALARS.test(base);
}
