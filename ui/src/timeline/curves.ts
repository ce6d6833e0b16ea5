// Curves below the streams of a device: memory, as far as it was recorded.
import { sentenceCase } from "../format/names";
import { figureText } from "../format/number";
import type { Report, SeriesPart } from "../server/types";
import type { Range } from "./view";

export type Curve = {
  key: string;
  title: string;
  note: string;
  most: number;
  axis: string;
  times: Float64Array;
  values: Float64Array;
};

/** The curve of the device that holds the most; reserved memory is not drawn, as it hardly moves. */
export function memoryCurves(report: Report, zero: number): Curve[] {
  const series = report.parts.filter(
    (part): part is SeriesPart => part.kind === "series" && !part.name.endsWith("reserved_bytes"),
  );
  const largest = (part: SeriesPart) => part.points.reduce((most, [, value]) => Math.max(most, value), 0);
  const onDevice = series.filter((part) => !part.name.startsWith("cpu_"));
  const best = (onDevice.length > 0 ? onDevice : series).reduce(
    (best: SeriesPart | undefined, part) => (!best || largest(part) > largest(best) ? part : best),
    undefined,
  );
  if (!best || best.points.length === 0) return [];
  const [, device = "", what = ""] = /^([^_]+)_(.*)_bytes$/.exec(best.name) ?? [];
  return [
    {
      key: best.name,
      title: sentenceCase(`memory ${what.replaceAll("_", " ")}`.trim()),
      note: device,
      most: largest(best),
      axis: figureText("bytes", largest(best)),
      times: Float64Array.from(best.points, ([time]) => time - zero),
      values: Float64Array.from(best.points, ([, value]) => value),
    },
  ];
}

/** The part of a curve that a view shows: the point before it, those in it, and its last value to the end. */
export function pointsIn(curve: Curve, view: Range): [number, number][] {
  let first = curve.times.findIndex((time) => time >= view.from);
  if (first < 0) first = curve.times.length;
  const points: [number, number][] = [];
  for (let i = Math.max(0, first - 1); i < curve.times.length && curve.times[i]! <= view.to; i++)
    points.push([curve.times[i]!, curve.values[i]!]);
  return points;
}
