// The colors of the timeline, read from the tokens of the page.
import { DELAYS } from "../format/names";

export type Rgba = [number, number, number, number];

/** How a span is drawn. */
export const FILL = 0;
export const BUCKET = 1;
export const OUTLINE = 2;
export const HATCH = 3;

export type Paint = { color: Rgba; mode: number };

export type Palette = {
  of: (className: string) => Paint;
  /** The part of a collective that waits for other ranks: a fill, and the line around it. */
  waiting: [Paint, Paint];
  ofName: (className: string, name: string) => Paint;
  text: (className: string) => string;
  ink: string;
  ink2: string;
  ink3: string;
  line: string;
  lineStrong: string;
  surface: string;
  sunken: string;
  accent: string;
  onAccent: string;
  sans: string;
};

const OWN_COLOR = ["kernel", "memcpy", "memset", "communication", "runtime", "dataloader", "cpu_exec"];
/** A tint as the tokens have it, its variables filled in. */
const TINT = /^color-mix\(in oklab, (#[0-9a-f]+) ([\d.]+)%, (#[0-9a-f]+)\)$/i;
const WAITING_SHARE = 0.38;
const SHADES = [-0.22, -0.11, 0, 0.11, 0.22];

export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const token = (name: string) => style.getPropertyValue(name).trim();
  const paints = new Map<string, Paint>(
    OWN_COLOR.map((name) => [name, { color: rgba(token(`--${name}`)), mode: FILL }]),
  );
  const ink3 = rgba(token("--ink-3"));
  paints.set("python", { color: [ink3[0], ink3[1], ink3[2], 102], mode: FILL });
  paints.set("annotation", { color: rgba(token("--line-strong")), mode: OUTLINE });
  for (const name of Object.keys(DELAYS)) paints.set(name, { color: tint(token(`--${name}`)), mode: FILL });
  const other: Paint = { color: rgba(token("--other")), mode: HATCH };
  const of = (className: string) => paints.get(className) ?? other;
  const ink = token("--ink");
  const [communication, surface] = [rgba(token("--communication")), rgba(token("--surface"))];
  const texts = new Map(OWN_COLOR.map((name) => [name, token(`--on-${name}`)]));
  return {
    of,
    waiting: [
      { color: mixed(surface, communication, WAITING_SHARE), mode: FILL },
      { color: communication, mode: OUTLINE },
    ],
    ofName: (className, name) => shaded(of(className), SHADES[hash(name) % SHADES.length]!),
    text: (className) => texts.get(className) ?? ink,
    ink,
    ink2: token("--ink-2"),
    ink3: token("--ink-3"),
    line: token("--line"),
    lineStrong: token("--line-strong"),
    surface: token("--surface"),
    sunken: token("--sunken"),
    accent: token("--accent"),
    onAccent: token("--on-accent"),
    sans: token("--sans"),
  };
}

const known = new Map<string, Rgba>();

/** `#14171c`, or `#fff` as a build may shorten it. Frames ask for the same few again and again. */
export function rgba(hex: string): Rgba {
  let color = known.get(hex);
  if (!color) known.set(hex, (color = parseColor(hex)));
  return color;
}

function parseColor(hex: string): Rgba {
  const short = hex.replace("#", "");
  const digits = short.length < 6 ? short.replaceAll(/./g, "$&$&") : short;
  const part = (at: number) => Number.parseInt(digits.slice(at, at + 2), 16);
  return digits.length < 6 || Number.isNaN(part(0))
    ? [128, 128, 128, 255]
    : [part(0), part(2), part(4), digits.length >= 8 ? part(6) : 255];
}

/** The color of a tint. */
export function tint(text: string): Rgba {
  const [, of, percent, ground] = TINT.exec(text) ?? [];
  return of && ground ? mixed(rgba(ground), rgba(of), Number(percent) / 100) : rgba(text);
}

/** A color with a share of another. */
export function mixed(color: Rgba, other: Rgba, share: number): Rgba {
  return color.map((value, part) => Math.round(value + (other[part]! - value) * share)) as Rgba;
}

/** Lighter or darker inside of the hue of the class. */
function shaded(paint: Paint, by: number): Paint {
  return { ...paint, color: lightened(paint.color, by) };
}

/** Lighter, or darker for a share below 0. */
export function lightened(color: Rgba, by: number): Rgba {
  const target = by > 0 ? 255 : 0;
  return mixed(color, [target, target, target, color[3]], Math.abs(by));
}

function hash(text: string): number {
  let value = 2166136261;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 16777619);
  return value >>> 0;
}
