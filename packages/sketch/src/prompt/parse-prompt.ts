/** From a prompt to a brief: one pass over its words, adjectives wait for the noun they stand before. */
import { tone } from "../color.ts";
import type { Weather } from "../scene/palette.ts";
import type { SkyFeature } from "../scene/sky.ts";
import type { TimeOfDay } from "../scene/times-of-day.ts";
import { type SubjectName, subjectOf } from "../subjects/catalog.ts";
import { colorWords, countWords, negations, shadeWords, sizeWords } from "./adjectives.ts";
import type { Brief, Mention, NamedColor, PlaceMention } from "./brief.ts";
import * as particle from "./function-words.ts";
import { germanToEnglish } from "./german.ts";
import { type Match, matchAt, tokens } from "./lexicon.ts";
import type { PlaceName, Style } from "./scene-words.ts";

/** Enough for any scene; a novel pasted as a prompt must not become a thousand subjects. */
const mostWords = 1200;
const mostSubjects = 6;
const mostOfOne = 24;

/** Adjectives that have not met their noun yet. */
interface PendingModifiers {
  readonly colors: readonly NamedColor[];
  readonly count?: number;
  readonly size: number;
  readonly shade: number;
  /** A word nobody knows came after the color: "an orange scarf". */
  readonly stray: boolean;
}
const nothing: PendingModifiers = { colors: [], size: 1, shade: 0, stray: false };

export function parsePrompt(prompt: string): Brief {
  const reading = new PromptParser(germanToEnglish(tokens(prompt).slice(0, mostWords)));
  return reading.brief();
}

class PromptParser {
  readonly #words: readonly string[];
  readonly #subjects: Mention[] = [];
  readonly #places = new Map<PlaceName, PlaceMention>();
  readonly #weather = new Set<Weather>();
  readonly #sky = new Set<SkyFeature>();
  readonly #styles = new Set<Style>();
  readonly #overallColors: NamedColor[] = [];
  /** Colors of things that cannot be drawn: they count only where nothing else can. */
  readonly #strays: NamedColor[] = [];
  #time: TimeOfDay | undefined;
  #skyColor: NamedColor | undefined;
  #waiting = nothing;
  #negated = false;
  /** What stood between the last subject and here. */
  #between = { ride: false, parted: false, held: false };
  /** Where the last subject's words ended. */
  #ended = -1;

  constructor(words: readonly string[]) {
    this.#words = words;
    for (let at = 0; at < words.length; ) {
      const match = matchAt(words, at);
      const hex = colorWords.get(words[at] ?? "");
      const asColor = match === undefined || (match.length === 1 && this.#namesNext(at + 1));
      if (hex !== undefined && asColor) at = this.#color(at, hex);
      else if (match === undefined) at = this.#particle(at);
      else at = this.#noun(at + match.length, match);
    }
    this.#flush();
  }

  /** "peach house", "peach colored", "coral sky": the word before is a color, not a fruit or a reef. */
  #namesNext(at: number): boolean {
    const next = this.#words[at] ?? "";
    return (
      particle.colored.has(next) ||
      particle.skyNouns.has(next) ||
      matchAt(this.#words, at) !== undefined
    );
  }

  #take(): PendingModifiers {
    const taken = this.#waiting;
    this.#waiting = nothing;
    return taken;
  }

  #flush(): void {
    const { colors, stray } = this.#take();
    (stray ? this.#strays : this.#overallColors).push(...colors);
  }

  #color(at: number, hex: string): number {
    const word = this.#words[at] ?? "";
    const { shade, colors } = this.#waiting;
    const name = shade < -0.05 ? `dark ${word}` : shade > 0.1 ? `light ${word}` : word;
    const color = { name, hex: shade === 0 ? hex : tone(hex, shade) };
    this.#waiting = {
      ...this.#waiting,
      shade: 0,
      stray: false,
      colors: [...colors, color].slice(-3),
    };
    const last = this.#subjects.at(-1);
    // "the cat is black"
    if (last !== undefined && particle.equals.has(this.#words[at - 1] ?? "")) {
      this.#subjects[this.#subjects.length - 1] = { ...last, colors: this.#take().colors };
    }
    return at + 1;
  }

  #particle(at: number): number {
    const word = this.#words[at] ?? "";
    const between = this.#between;
    if (negations.has(word)) this.#negated = true;
    if (particle.skyNouns.has(word)) this.#skyColor ??= this.#take().colors[0];
    else if (particle.wholeNouns.has(word) || particle.flushing.has(word)) {
      if (this.#waiting.colors.length > 0) this.#flush();
    }
    this.#between = {
      ride: between.ride || particle.riding.has(word),
      parted: between.parted || particle.apart.has(word),
      held: particle.holding.has(word) || (between.held && !particle.apart.has(word)),
    };
    const number = /^\d{1,3}$/.test(word) ? Number(word) : countWords.get(word);
    const { count = 0, shade, size } = this.#waiting;
    this.#waiting = {
      ...this.#waiting,
      shade: shadeWords.get(word) ?? shade,
      size: sizeWords.get(word) ?? size,
      stray:
        this.#waiting.stray || (this.#waiting.colors.length > 0 && !particle.joining.has(word)),
      // "a pair of", "a flock of": the larger word wins.
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
    const adjoining = this.#ended === end - match.length;
    this.#ended = end;
    // "golden retriever puppy" is one dog.
    if (same && adjoining) return;
    const { ride, parted, held } = this.#between;
    const { colors, size, count } = this.#take();
    this.#between = { ride: false, parted: false, held: false };
    if (this.#subjects.length >= mostSubjects) return;
    const several = match.plural || particle.sameInPlural.has(match.word);
    const heldSpot =
      held &&
      before?.count === 1 &&
      particle.holders.has(before.name) &&
      particle.holdable.has(name);
    this.#subjects.push({
      name,
      word: match.word,
      count: Math.min(mostOfOne, count ?? (several ? 3 : 1)),
      colors,
      size,
      ...(heldSpot && { heldBy: at }),
    });
    if (before !== undefined && ride && !parted && subjectOf(name).seat !== undefined) {
      this.#subjects[at] = { ...before, on: at + 1 };
    }
  }

  #hasScene(): boolean {
    return this.#subjects.length > 0 || this.#places.size > 0;
  }

  brief(): Brief {
    const has = (set: ReadonlySet<string>): boolean => this.#words.some((word) => set.has(word));
    const shape = this.#words
      .map((word) => particle.shapes.get(word))
      .find((found) => found !== undefined);
    return {
      subjects: this.#subjects,
      places: [...this.#places.values()].slice(0, 4),
      ...(this.#time !== undefined && { time: this.#time }),
      weather: [...this.#weather].slice(0, 2),
      sky: this.#sky,
      ...(this.#skyColor !== undefined && { skyColor: this.#skyColor }),
      styles: [...this.#styles].slice(0, 2),
      overallColors: [...this.#overallColors, ...(this.#hasScene() ? [] : this.#strays)].slice(
        0,
        4,
      ),
      ...(shape !== undefined && { shape }),
      close: has(particle.closeWords),
      add: has(particle.additions),
      remove: has(particle.removals),
    };
  }
}
