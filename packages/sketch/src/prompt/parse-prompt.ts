/** Parses a prompt to a brief in one pass. Adjectives are kept until the noun that they precede. */
import { tone } from "../color.ts";
import type { Weather } from "../scene/palette.ts";
import type { SkyFeature } from "../scene/sky.ts";
import type { TimeOfDay } from "../scene/times-of-day.ts";
import { type SubjectName, subjectOf } from "../subjects/catalog.ts";
import { colorWords, countWords, negations, shadeWords, sizeWords } from "./adjectives.ts";
import type { Brief, Mention, NamedColor, PlaceMention } from "./brief.ts";
import * as functionWords from "./function-words.ts";
import { germanToEnglish } from "./german.ts";
import { type Match, matchAt, tokenize } from "./lexicon.ts";
import type { PlaceName, Style } from "./scene-words.ts";

/** Bounds for long texts: a novel as a prompt must not become a thousand subjects. */
const maxWords = 1200;
const maxSubjects = 6;
const maxCount = 24;

/** Adjectives whose noun has not come yet. */
interface PendingModifiers {
  readonly colors: readonly NamedColor[];
  readonly count?: number;
  readonly size: number;
  readonly shade: number;
  /** An unknown word came after the color, as in "an orange scarf". */
  readonly orphaned: boolean;
}
const noModifiers: PendingModifiers = { colors: [], size: 1, shade: 0, orphaned: false };

export function parsePrompt(prompt: string): Brief {
  const words = germanToEnglish(tokenize(prompt).slice(0, maxWords));
  return new PromptParser(words).brief();
}

function shadeName(color: string, shade: number): string {
  if (shade < -0.05) return `dark ${color}`;
  return shade > 0.1 ? `light ${color}` : color;
}

class PromptParser {
  readonly #words: readonly string[];
  readonly #subjects: Mention[] = [];
  readonly #places = new Map<PlaceName, PlaceMention>();
  readonly #weather = new Set<Weather>();
  readonly #sky = new Set<SkyFeature>();
  readonly #styles = new Set<Style>();
  readonly #overallColors: NamedColor[] = [];
  /** Colors of nouns that are not in the lexicon. They are used only if the prompt names no subject and no place. */
  readonly #orphanedColors: NamedColor[] = [];
  #time: TimeOfDay | undefined;
  #skyColor: NamedColor | undefined;
  #pending = noModifiers;
  #negated = false;
  /** Which function words came after the last subject. */
  #sinceSubject = { ride: false, separated: false, held: false };
  /** The index after the words of the last subject. */
  #subjectEnd = -1;

  constructor(words: readonly string[]) {
    this.#words = words;
    for (let at = 0; at < words.length; ) {
      const match = matchAt(words, at);
      const hex = colorWords.get(words[at] ?? "");
      const asColor = match === undefined || (match.length === 1 && this.#isBeforeNoun(at + 1));
      if (hex !== undefined && asColor) at = this.#color(at, hex);
      else if (match === undefined) at = this.#functionWord(at);
      else at = this.#noun(at + match.length, match);
    }
    this.#flush();
  }

  /** In "peach house", "peach colored" and "coral sky" the first word is a color, not a fruit or a reef. */
  #isBeforeNoun(at: number): boolean {
    const next = this.#words[at] ?? "";
    return (
      functionWords.colored.has(next) ||
      functionWords.skyNouns.has(next) ||
      matchAt(this.#words, at) !== undefined
    );
  }

  #take(): PendingModifiers {
    const taken = this.#pending;
    this.#pending = noModifiers;
    return taken;
  }

  #flush(): void {
    const { colors, orphaned } = this.#take();
    (orphaned ? this.#orphanedColors : this.#overallColors).push(...colors);
  }

  #color(at: number, hex: string): number {
    const word = this.#words[at] ?? "";
    const { shade, colors } = this.#pending;
    const color = { name: shadeName(word, shade), hex: shade === 0 ? hex : tone(hex, shade) };
    this.#pending = {
      ...this.#pending,
      shade: 0,
      orphaned: false,
      colors: [...colors, color].slice(-3),
    };
    const last = this.#subjects.at(-1);
    // As in "the cat is black".
    if (last !== undefined && functionWords.copulas.has(this.#words[at - 1] ?? "")) {
      this.#subjects[this.#subjects.length - 1] = { ...last, colors: this.#take().colors };
    }
    return at + 1;
  }

  #functionWord(at: number): number {
    const word = this.#words[at] ?? "";
    const before = this.#sinceSubject;
    if (negations.has(word)) this.#negated = true;
    if (functionWords.skyNouns.has(word)) this.#skyColor ??= this.#take().colors[0];
    else if (functionWords.overallNouns.has(word) || functionWords.flushing.has(word)) {
      if (this.#pending.colors.length > 0) this.#flush();
    }
    this.#sinceSubject = {
      ride: before.ride || functionWords.riding.has(word),
      separated: before.separated || functionWords.separating.has(word),
      held: functionWords.holding.has(word) || (before.held && !functionWords.separating.has(word)),
    };
    const number = /^\d{1,3}$/.test(word) ? Number(word) : countWords.get(word);
    const { count = 0, shade, size } = this.#pending;
    this.#pending = {
      ...this.#pending,
      shade: shadeWords.get(word) ?? shade,
      size: sizeWords.get(word) ?? size,
      orphaned:
        this.#pending.orphaned ||
        (this.#pending.colors.length > 0 && !functionWords.joining.has(word)),
      // Of two counts, as in "a pair of", the larger one wins.
      ...(number !== undefined && number > 0 && { count: Math.max(count, number) }),
    };
    return at + 1;
  }

  #noun(end: number, match: Match): number {
    const { sense, word } = match;
    if (this.#negated) {
      this.#negated = false;
      this.#take();
    } else if (sense.kind === "style") this.#styles.add(sense.name);
    else if (sense.kind === "subject") this.#subject(end, sense.name, match);
    else {
      const { colors } = this.#take();
      if (sense.kind === "place") {
        if (!this.#places.has(sense.name))
          this.#places.set(sense.name, { name: sense.name, word, colors });
      } else if (sense.kind === "time") {
        this.#time ??= sense.name;
        this.#skyColor ??= colors[0];
        if (word.startsWith("starr")) this.#sky.add("stars");
      } else if (sense.kind === "weather") {
        this.#weather.add(sense.name);
        if (sense.name === "fog") this.#overallColors.push(...colors);
      } else {
        this.#sky.add(sense.name);
        this.#overallColors.push(...colors.slice(0, 1));
      }
    }
    return end;
  }

  #subject(end: number, name: SubjectName, match: Match): void {
    const at = this.#subjects.length - 1;
    const before = this.#subjects[at];
    const same = before?.name === name || (before?.name === "blossomTree" && name === "tree");
    const adjoining = this.#subjectEnd === end - match.length;
    this.#subjectEnd = end;
    // Adjacent words for the same subject are one subject: "golden retriever puppy".
    if (same && adjoining) return;
    const { ride, separated, held } = this.#sinceSubject;
    const { colors, size, count } = this.#take();
    this.#sinceSubject = { ride: false, separated: false, held: false };
    if (this.#subjects.length >= maxSubjects) return;
    const several = match.plural || functionWords.sameInPlural.has(match.word);
    const isHeld =
      held &&
      before?.count === 1 &&
      functionWords.holders.has(before.name) &&
      functionWords.holdable.has(name);
    this.#subjects.push({
      name,
      word: match.word,
      count: Math.min(maxCount, count ?? (several ? 3 : 1)),
      colors,
      size,
      ...(isHeld && { heldBy: at }),
    });
    if (before !== undefined && ride && !separated && subjectOf(name).seat !== undefined) {
      this.#subjects[at] = { ...before, on: at + 1 };
    }
  }

  #hasScene(): boolean {
    return this.#subjects.length > 0 || this.#places.size > 0;
  }

  brief(): Brief {
    const has = (set: ReadonlySet<string>): boolean => this.#words.some((word) => set.has(word));
    const shape = this.#words
      .map((word) => functionWords.shapes.get(word))
      .find((found) => found !== undefined);
    return {
      subjects: this.#subjects,
      places: [...this.#places.values()].slice(0, 4),
      ...(this.#time !== undefined && { time: this.#time }),
      weather: [...this.#weather].slice(0, 2),
      sky: this.#sky,
      ...(this.#skyColor !== undefined && { skyColor: this.#skyColor }),
      styles: [...this.#styles].slice(0, 2),
      overallColors: [
        ...this.#overallColors,
        ...(this.#hasScene() ? [] : this.#orphanedColors),
      ].slice(0, 4),
      ...(shape !== undefined && { shape }),
      close: has(functionWords.closeWords),
      add: has(functionWords.additions),
      remove: has(functionWords.removals),
    };
  }
}
