/** From a prompt to a brief: one pass over its words, adjectives wait for the noun they stand before. */
import { tone } from "../colour.ts";
import type { TimeOfDay, Weather } from "../palette.ts";
import type { SkyFeature } from "../sky.ts";
import { type SubjectName, subjectOf } from "../subjects/catalogue.ts";
import {
  colourWords,
  countWords,
  irregular,
  negations,
  shadeWords,
  sizeWords,
} from "./adjectives.ts";
import type { Brief, Mention, NamedColour, PlaceMention } from "./brief.ts";
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

type Sense =
  | { readonly kind: "subject"; readonly name: SubjectName }
  | { readonly kind: "place"; readonly name: PlaceName }
  | { readonly kind: "time"; readonly name: TimeOfDay }
  | { readonly kind: "weather"; readonly name: Weather }
  | { readonly kind: "sky"; readonly name: SkyFeature }
  | { readonly kind: "style"; readonly name: Style };

const entries = <N extends string>(table: Record<N, string>): [string, N][] =>
  (Object.keys(table) as N[]).flatMap((name) =>
    table[name].split(" ").map((word): [string, N] => [word, name]),
  );

/** Later entries win, so plain scenery words come last. */
const senses: ReadonlyMap<string, Sense> = new Map<string, Sense>([
  ...entries(subjectWords).map(([word, name]): [string, Sense] => [
    word,
    { kind: "subject", name },
  ]),
  ...entries(skyWords).map(([word, name]): [string, Sense] => [word, { kind: "sky", name }]),
  ...entries(placeWords).map(([word, name]): [string, Sense] => [word, { kind: "place", name }]),
  ...entries(timeWords).map(([word, name]): [string, Sense] => [word, { kind: "time", name }]),
  ...entries(weatherWords).map(([word, name]): [string, Sense] => [
    word,
    { kind: "weather", name },
  ]),
  ...entries(styleWords).map(([word, name]): [string, Sense] => [word, { kind: "style", name }]),
]);
const longestPhrase = 4;
/** Enough for any scene; a novel pasted as a prompt must not become a thousand subjects. */
const mostWords = 1200;
const mostSubjects = 6;
const mostOfOne = 24;

const riding = new Set([
  "on",
  "onto",
  "riding",
  "rides",
  "in",
  "inside",
  "aboard",
  "driving",
  "drives",
  "steering",
  "atop",
  "sitting",
  "flying",
  "rowing",
  "sailing",
]);
const apart = new Set([
  "and",
  "with",
  "over",
  "under",
  "near",
  "beside",
  "behind",
  "above",
  "below",
  "by",
  "next",
  "around",
  "at",
  "against",
  "through",
]);
const flushing = new Set([
  "over",
  "under",
  "on",
  "in",
  "at",
  "with",
  "near",
  "behind",
  "above",
  "of",
  "beside",
  "by",
  "through",
  "against",
]);
const sameInPlural = new Set(["fish", "sheep", "deer", "koi", "people", "aliens"]);
const holding = new Set(["with", "holding", "holds", "carrying", "under"]);
const holders: ReadonlySet<SubjectName> = new Set([
  "person",
  "robot",
  "astronaut",
  "cat",
  "dog",
  "bear",
  "rabbit",
  "penguin",
  "fox",
  "panda",
  "mouse",
  "frog",
  "snowman",
  "wizard",
]);
const holdable: ReadonlySet<SubjectName> = new Set([
  "umbrella",
  "toyBalloon",
  "kite",
  "flower",
  "sunflower",
  "tulip",
  "heart",
  "book",
  "gift",
  "lantern",
  "apple",
  "cup",
  "iceCream",
  "guitar",
  "star",
]);
const equals = new Set(["is", "are", "was", "were"]);
const skyNouns = new Set(["sky", "skies", "heavens"]);
const wholeNouns = new Set([
  "background",
  "tones",
  "tone",
  "palette",
  "colours",
  "colors",
  "hues",
  "shades",
  "theme",
  "light",
  "scheme",
]);
const shapes: Readonly<Record<string, "wide" | "tall" | "square">> = {
  landscape: "wide",
  wide: "wide",
  panorama: "wide",
  panoramic: "wide",
  banner: "wide",
  widescreen: "wide",
  horizontal: "wide",
  portrait: "tall",
  vertical: "tall",
  square: "square",
};
const closeWords = new Set([
  "portrait",
  "close-up",
  "closeup",
  "headshot",
  "selfie",
  "icon",
  "sticker",
  "logo",
  "emoji",
]);
const removals = new Set(["remove", "erase", "delete", "eliminate"]);

export const tokens = (prompt: string): string[] =>
  prompt
    .toLowerCase()
    .normalize("NFC")
    .match(/[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu) ?? [];

/** Regular English plurals; the bare word is tried first, so "bus" and "glass" survive. */
const singular = (word: string): string =>
  irregular.get(word) ??
  (/(ies)$/.test(word)
    ? word.replace(/ies$/, "y")
    : /(ches|shes|sses|xes|oes)$/.test(word)
      ? word.slice(0, -2)
      : /[^s]s$/.test(word)
        ? word.slice(0, -1)
        : word);

interface Match {
  readonly sense: Sense;
  readonly word: string;
  readonly length: number;
  readonly plural: boolean;
}

function matchAt(words: readonly string[], at: number): Match | undefined {
  for (let length = Math.min(longestPhrase, words.length - at); length > 0; length--) {
    const phrase = words
      .slice(at, at + length)
      .join("_")
      .replace(/'s$/, "");
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

export function understand(prompt: string): Brief {
  const words = tokens(prompt).slice(0, mostWords);
  const subjects: Mention[] = [];
  const places = new Map<PlaceName, PlaceMention>();
  const weather = new Set<Weather>();
  const sky = new Set<SkyFeature>();
  const found = new Set<Style>();
  const lean: NamedColour[] = [];
  let time: TimeOfDay | undefined;
  let skyColour: NamedColour | undefined;
  let shape: Brief["shape"];
  let [close, remove, negated] = [false, false, false];
  let colours: NamedColour[] = [];
  let count: number | undefined;
  let [size, shade] = [1, 0];
  /** Since the last subject: did the words say "on" or "riding", and did anything part the two? */
  let [ride, parted, held] = [false, false, false];
  /** Where the last subject's words ended. */
  let ended = -1;

  const settle = (): NamedColour[] => {
    const taken = colours;
    [colours, count, size, shade] = [[], undefined, 1, 0];
    return taken;
  };

  for (let at = 0; at < words.length; ) {
    const word = words[at] ?? "";
    const match = matchAt(words, at);
    const hex = colourWords.get(word);
    const next = words[at + 1] ?? "";
    const nextIsNoun =
      next === "coloured" ||
      next === "colored" ||
      matchAt(words, at + 1) !== undefined ||
      skyNouns.has(next);
    if (shapes[word] !== undefined) shape ??= shapes[word];
    if (closeWords.has(word)) close = true;
    if (removals.has(word)) remove = true;

    if (hex !== undefined && (match === undefined || (nextIsNoun && match.length === 1))) {
      const name = shade < -0.05 ? `dark ${word}` : shade > 0.1 ? `light ${word}` : word;
      colours = [...colours, { name, hex: shade === 0 ? hex : tone(hex, shade) }].slice(-3);
      shade = 0;
      at += 1;
      // "the cat is black"
      const last = subjects.at(-1);
      if (last !== undefined && equals.has(words[at - 2] ?? ""))
        subjects[subjects.length - 1] = { ...last, colours: settle() };
      continue;
    }
    if (match === undefined) {
      at += 1;
      if (negations.has(word)) negated = true;
      else if (skyNouns.has(word)) skyColour ??= settle()[0];
      else if (wholeNouns.has(word) && colours.length > 0) lean.push(...settle());
      else if (flushing.has(word) && colours.length > 0) lean.push(...settle());
      if (riding.has(word)) ride = true;
      if (apart.has(word)) parted = true;
      held = holding.has(word) || (held && !apart.has(word));
      shade = shadeWords.get(word) ?? shade;
      size = sizeWords.get(word) ?? size;
      const number = /^\d{1,3}$/.test(word) ? Number(word) : countWords.get(word);
      // "a pair of", "a flock of": the larger word wins.
      if (number !== undefined && number > 0) count = Math.max(count ?? 0, number);
      continue;
    }
    at += match.length;
    const { sense } = match;
    if (negated) {
      negated = false;
      settle();
      continue;
    }
    if (sense.kind === "style") {
      found.add(sense.name);
      continue;
    }
    if (sense.kind === "subject") {
      const twin = subjects.at(-1);
      const same =
        twin?.name === sense.name || (sense.name === "tree" && twin?.name === "blossomTree");
      // "golden retriever puppy" is one dog.
      if (twin !== undefined && same && ended === at - match.length) {
        ended = at;
        continue;
      }
      ended = at;
      const before = subjects.length - 1;
      const carrier = subjectOf(sense.name).seat !== undefined && ride && !parted && before >= 0;
      const owner = subjects[before];
      const inHand =
        held &&
        holdable.has(sense.name) &&
        owner !== undefined &&
        owner.count === 1 &&
        holders.has(owner.name);
      const wanted = count ?? (match.plural || sameInPlural.has(match.word) ? 3 : 1);
      const [paint, scale] = [colours, size];
      settle();
      if (subjects.length < mostSubjects) {
        subjects.push({
          name: sense.name,
          word: match.word,
          count: Math.min(mostOfOne, Math.max(1, wanted)),
          colours: paint,
          size: scale,
          ...(inHand && { heldBy: before }),
        });
        const rider = subjects[before];
        if (carrier && rider !== undefined)
          subjects[before] = { ...rider, on: subjects.length - 1 };
      }
      [ride, parted, held] = [false, false, false];
      continue;
    }
    const paint = settle();
    if (sense.kind === "place") {
      if (!places.has(sense.name))
        places.set(sense.name, { name: sense.name, word: match.word, colours: paint });
    } else if (sense.kind === "time") {
      time ??= sense.name;
      skyColour ??= paint[0];
      if (match.word.startsWith("starr")) sky.add("stars");
    } else if (sense.kind === "weather") {
      weather.add(sense.name);
      if (match.word === "haze" || match.word === "mist") lean.push(...paint);
    } else {
      sky.add(sense.name);
      if (paint[0] !== undefined) lean.push(paint[0]);
    }
  }
  lean.push(...colours);
  return {
    subjects,
    places: [...places.values()].slice(0, 4),
    ...(time !== undefined && { time }),
    weather: [...weather].slice(0, 2),
    sky,
    ...(skyColour !== undefined && { skyColour }),
    styles: [...found].slice(0, 2),
    lean: lean.slice(0, 4),
    ...(shape !== undefined && { shape }),
    close,
    remove,
  };
}
