// Asks for the curves below the streams.
import { createMemo } from "solid-js";
import { analysis, type SourceKey } from "../server/questions";
import type { TimelineOutline } from "../server/types";
import { createAnswer } from "../state/answer";
import { source } from "../state/session";
import { memoryCurves, type Curve } from "./curves";

/** Asked once there are lanes to see, as it is the lesser part of the picture. */
export function createCurves(key: SourceKey, outline: TimelineOutline, isReady: () => boolean): () => Curve[] {
  const question = createMemo(() => (isReady() && (source()?.rows.memory_events ?? 0) > 0 ? key : undefined));
  const [report] = createAnswer(question, (key) => analysis(key.run, "memory", { rank: key.rank, window: key.window }));
  return createMemo(() => (report.error || !report.latest ? [] : memoryCurves(report.latest, outline.zero_ns)));
}
