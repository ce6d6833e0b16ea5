// Contrast and distance of all colors, worked out from the tokens.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { CLASSES, DELAYS } from "../format/names";

type Rgb = [number, number, number];

const css = readFileSync(new URL("tokens.css", import.meta.url), "utf8");
const dark = tokens(css.slice(0, css.indexOf(':root[data-theme="light"]')));
const light = { ...dark, ...tokens(css.slice(css.indexOf(':root[data-theme="light"]'))) };

function tokens(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6})\b/g)].map((match) => [match[1]!, match[2]!]),
  );
}

const rgb = (hex: string): Rgb => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255) as Rgb;
const linear = (part: number) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);

/** WCAG 2.2. */
function contrast(a: string, b: string): number {
  const luminance = (hex: string) => {
    const [red, green, blue] = rgb(hex).map(linear) as Rgb;
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

/** Machado, Oliveira and Fernandes 2009, full severity, on linear colors. */
const VISION: Record<string, number[]> = {
  normal: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};

function lab(hex: string, matrix: number[]): Rgb {
  const seen = rgb(hex).map(linear) as Rgb;
  const [r, g, b] = [0, 1, 2].map((row) =>
    Math.min(
      1,
      Math.max(0, matrix[3 * row]! * seen[0] + matrix[3 * row + 1]! * seen[1] + matrix[3 * row + 2]! * seen[2]),
    ),
  ) as Rgb;
  const f = (t: number) => (t > 216 / 24389 ? Math.cbrt(t) : (24389 / 27 / 116) * t + 16 / 116);
  const x = f((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047);
  const y = f(0.2126729 * r + 0.7151522 * g + 0.072175 * b);
  const z = f((0.0193339 * r + 0.119192 * g + 0.9503041 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** CIEDE2000, after Sharma, Wu and Dalal 2005. */
function distance([l1, a1, b1]: Rgb, [l2, a2, b2]: Rgb): number {
  const mean = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2;
  const g = 0.5 * (1 - Math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7)));
  const [x1, x2] = [a1 * (1 + g), a2 * (1 + g)];
  const [c1, c2] = [Math.hypot(x1, b1), Math.hypot(x2, b2)];
  const hue = (x: number, y: number) => (x === 0 && y === 0 ? 0 : ((Math.atan2(y, x) * 180) / Math.PI + 360) % 360);
  const [h1, h2] = [hue(x1, b1), hue(x2, b2)];
  const apart = c1 * c2 === 0 ? 0 : Math.abs(h2 - h1) <= 180 ? h2 - h1 : h2 <= h1 ? h2 - h1 + 360 : h2 - h1 - 360;
  const [dl, dc, dh] = [l2 - l1, c2 - c1, 2 * Math.sqrt(c1 * c2) * Math.sin((apart * Math.PI) / 360)];
  const [l, c] = [(l1 + l2) / 2, (c1 + c2) / 2];
  const h =
    c1 * c2 === 0
      ? h1 + h2
      : Math.abs(h1 - h2) <= 180
        ? (h1 + h2) / 2
        : h1 + h2 < 360
          ? (h1 + h2 + 360) / 2
          : (h1 + h2 - 360) / 2;
  const cos = (degrees: number) => Math.cos((degrees * Math.PI) / 180);
  const t = 1 - 0.17 * cos(h - 30) + 0.24 * cos(2 * h) + 0.32 * cos(3 * h + 6) - 0.2 * cos(4 * h - 63);
  const turn = 30 * Math.exp(-(((h - 275) / 25) ** 2));
  const sl = 1 + (0.015 * (l - 50) ** 2) / Math.sqrt(20 + (l - 50) ** 2);
  const [sc, sh] = [1 + 0.045 * c, 1 + 0.015 * c * t];
  const rt = -2 * Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7)) * Math.sin((2 * turn * Math.PI) / 180);
  return Math.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + rt * (dc / sc) * (dh / sh));
}

describe.each([
  ["dark", dark],
  ["light", light],
])("%s", (_, theme) => {
  const grounds = ["page", "surface", "raised", "sunken", "hover"];

  test.each(["ink", "ink-2", "ink-3", "accent", "good", "warn", "bad", "less", "more"])(
    "text in %s is readable on every ground",
    (name) => {
      const least = Math.min(...grounds.map((ground) => contrast(theme[name]!, theme[ground]!)));
      expect(least).toBeGreaterThanOrEqual(4.5);
    },
  );

  test.each([...CLASSES])("%s stands out from the ground, and text from it", (name) => {
    expect(
      Math.min(...["page", "surface", "sunken"].map((ground) => contrast(theme[name]!, theme[ground]!))),
    ).toBeGreaterThanOrEqual(3);
    expect(contrast(theme[name]!, theme[`on-${name}`]!)).toBeGreaterThanOrEqual(4.5);
  });

  test.each(Object.keys(VISION))("classes differ for %s vision", (vision) => {
    const seen = CLASSES.map((name) => lab(theme[name]!, VISION[vision]!));
    const pairs = seen.flatMap((one, at) => seen.slice(at + 1).map((other) => distance(one, other)));
    expect(Math.min(...pairs)).toBeGreaterThanOrEqual(12);
  });
});

test.each(Object.entries(DELAYS))("%s is a tint of %s, not another hue", (name, of) => {
  expect(css).toContain(`--${name}: color-mix(in oklab, var(--${of}) 38%, var(--surface));`);
});
