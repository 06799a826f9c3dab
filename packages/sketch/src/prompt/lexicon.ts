/** The lexicon, inverted: looks up the words of a prompt, longest phrase first. */

import type { Weather } from "../scene/palette.ts";
import type { SkyFeature } from "../scene/sky.ts";
import type { TimeOfDay } from "../scene/times-of-day.ts";
import type { SubjectName } from "../subjects/catalog.ts";
import { irregular } from "./adjectives.ts";
import {
  type PlaceName,
  placeWords,
  type Style,
  skyWords,
  styleWords,
  timeWords,
  weatherWords,
} from "./scene-words.ts";
import { subjectWords } from "./subject-words.ts";

export type Sense =
  | { readonly kind: "subject"; readonly name: SubjectName }
  | { readonly kind: "place"; readonly name: PlaceName }
  | { readonly kind: "time"; readonly name: TimeOfDay }
  | { readonly kind: "weather"; readonly name: Weather }
  | { readonly kind: "sky"; readonly name: SkyFeature }
  | { readonly kind: "style"; readonly name: Style };

function* entries<N extends string>(
  table: Record<N, string>,
  sense: (name: N) => Sense,
): Generator<[string, Sense]> {
  for (const name of Object.keys(table) as N[])
    for (const word of table[name].split(" ")) yield [word, sense(name)];
}

/** A word in two tables has the sense of the later table, so scenery comes after subjects. */
const senses: ReadonlyMap<string, Sense> = new Map<string, Sense>([
  ...entries(subjectWords, (name) => ({ kind: "subject", name })),
  ...entries(skyWords, (name) => ({ kind: "sky", name })),
  ...entries(placeWords, (name) => ({ kind: "place", name })),
  ...entries(timeWords, (name) => ({ kind: "time", name })),
  ...entries(weatherWords, (name) => ({ kind: "weather", name })),
  ...entries(styleWords, (name) => ({ kind: "style", name })),
]);
const longestPhrase = 4;

export const tokenize = (prompt: string): string[] =>
  prompt
    .toLowerCase()
    .normalize("NFC")
    .match(/[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu) ?? [];

/**
 * The singular of regular English plurals. Callers try the unchanged word first, so that "bus" and "glass" are found.
 */
function singular(word: string): string {
  const known = irregular.get(word);
  if (known !== undefined) return known;
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (/(ches|shes|sses|xes|oes)$/.test(word)) return word.slice(0, -2);
  return /[^s]s$/.test(word) ? word.slice(0, -1) : word;
}

export interface Match {
  readonly sense: Sense;
  /** The word as the lexicon spells it. */
  readonly word: string;
  readonly length: number;
  readonly plural: boolean;
}

export function matchAt(words: readonly string[], at: number): Match | undefined {
  for (let length = Math.min(longestPhrase, words.length - at); length > 0; length--) {
    const phrase = words
      .slice(at, at + length)
      .join("_")
      .replace(/['’]s$/, "");
    const exact = senses.get(phrase);
    if (exact !== undefined) return { sense: exact, word: phrase, length, plural: false };
    const last = words[at + length - 1] ?? "";
    const single = [...words.slice(at, at + length - 1), singular(last)].join("_");
    const found = senses.get(single);
    if (found !== undefined)
      return { sense: found, word: single, length, plural: single !== phrase };
  }
  return undefined;
}
