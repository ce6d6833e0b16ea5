// Sentences in pieces: words, figures and what to ask next. Nobody has to take a text apart.
import type { Cell, Piece, Sentence, Unit } from "../server/types";
import { sentenceCase } from "./names";
import { saidFigure } from "./said_figure";

/** Words alone. */
export const words = (text: string): Sentence => (text === "" ? [] : [{ words: text }]);

/** A sentence from a template: each value is words or a sentence. */
export function say(template: TemplateStringsArray, ...pieces: (string | Sentence)[]): Sentence {
  return template.flatMap((text, place) => {
    const piece = pieces[place] ?? [];
    return [...words(text), ...(typeof piece === "string" ? words(piece) : piece)];
  });
}

/** A figure to stand in a sentence. */
export const said = (unit: Unit, value: number): Sentence => [{ figure: { value, unit, rounding: "usual" } }];

/** Facts in one line, without those that are not there. */
export function factsOf(facts: (string | Sentence | undefined)[]): Sentence {
  const known = facts.map((fact) => (typeof fact === "string" ? words(fact) : (fact ?? []))).filter((fact) => fact.length > 0);
  return known.flatMap((fact, place) => (place === 0 ? fact : [{ separator: null }, ...fact]));
}

/** The sentence as text. */
export function written(sentence: Sentence): string {
  return sentence.map(pieceText).join("");
}

export function pieceText(piece: Piece): string {
  if ("words" in piece) return piece.words;
  if ("figure" in piece) return saidFigure(piece.figure);
  return "target" in piece ? piece.target.ask : " · ";
}

/** With a capital, unless it begins with a name or a figure. */
export function capitalized(sentence: Sentence): Sentence {
  const [first, ...rest] = sentence;
  return first && "words" in first ? [{ words: sentenceCase(first.words) }, ...rest] : sentence;
}

/** The sentences of a cell that has some. */
export function sentencesIn(cell: Cell): Sentence[] {
  if (typeof cell !== "object" || cell === null || Array.isArray(cell)) return [];
  if ("sentences" in cell) return cell.sentences as Sentence[];
  return "sentence" in cell ? [cell.sentence as Sentence] : [];
}
