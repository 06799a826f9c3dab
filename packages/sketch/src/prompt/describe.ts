/**
 * Describes a brief in one sentence, so that users see what the program understood. It contains words of the lexicon
 * only, never text of the prompt.
 */

import type { SkyFeature } from "../scene/sky.ts";
import type { TimeOfDay } from "../scene/times-of-day.ts";
import type { SubjectName } from "../subjects/catalog.ts";
import type { Brief, Mention } from "./brief.ts";
import { isAbstract } from "./brief.ts";
import { type PlaceName, styleWords, weatherWords } from "./scene-words.ts";
import { subjectWords } from "./subject-words.ts";

const displayName = (words: string): string =>
  (words.split(" ")[0] ?? "").replaceAll("_", " ").replace("eiffel", "Eiffel");
const plurals: Readonly<Record<string, string>> = {
  fish: "fish",
  sheep: "sheep",
  deer: "deer",
  mouse: "mice",
  butterfly: "butterflies",
  fox: "foxes",
  bus: "buses",
  church: "churches",
  bench: "benches",
  octopus: "octopuses",
  cactus: "cacti",
  "cup of coffee": "cups of coffee",
  person: "people",
  "orange fruit": "oranges",
  "bowl of fruit": "bowls of fruit",
  "cherry tree": "cherry trees",
};
const numbers = [
  "no",
  "a",
  "two",
  "three",
  "four",
  "five",
  "six",
  "seven",
  "eight",
  "nine",
  "ten",
  "eleven",
  "twelve",
];
const placeNames: Record<PlaceName, string> = {
  mountains: "mountains",
  volcano: "volcano",
  sea: "sea",
  beach: "beach",
  lake: "lake",
  river: "river",
  island: "island",
  city: "city",
  street: "street",
  village: "village",
  forest: "forest",
  jungle: "jungle",
  desert: "desert",
  canyon: "canyon",
  meadow: "meadow",
  hills: "hills",
  field: "field",
  garden: "garden",
  park: "park",
  snow: "snowy ground",
  space: "outer space",
  moonscape: "the ground of a moon",
  mars: "a red planet's ground",
  underwater: "the deep sea",
  above: "a sea of clouds",
  room: "room",
  grid: "neon grid",
};
const placesWithoutArticle = new Set<PlaceName>([
  "mountains",
  "hills",
  "snow",
  "space",
  "moonscape",
  "mars",
  "underwater",
  "above",
]);
const timeNames: Record<TimeOfDay, string> = {
  dawn: "at dawn",
  day: "by day",
  golden: "at the golden hour",
  sunset: "at sunset",
  dusk: "at dusk",
  night: "at night",
};
const startsWithVowel = (words: string): boolean => /^(?!unicorn)[aeiou]/i.test(words);
const skyNames: Record<SkyFeature, string> = {
  stars: "stars",
  moon: "a moon",
  crescent: "a crescent moon",
  sun: "the sun",
  rainbow: "a rainbow",
  aurora: "northern lights",
  clouds: "clouds",
  comet: "a comet",
  fireworks: "fireworks",
  galaxy: "the Milky Way",
  birds: "far birds",
  eclipse: "an eclipse",
};
const joinWithAnd = (parts: readonly string[]): string =>
  parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;

function sizeName(size: number): string {
  if (size < 0.8) return "small";
  return size > 1.2 ? "big" : "";
}

function subjectPhrase(mention: Mention): string {
  const noun = displayName(subjectWords[mention.name]);
  const words = [
    sizeName(mention.size),
    mention.colors.map((color) => color.name).join(" and "),
    mention.count > 1 ? (plurals[noun] ?? `${noun}s`) : noun,
  ]
    .filter(Boolean)
    .join(" ");
  const article = startsWithVowel(words) ? "an" : "a";
  return mention.count === 1
    ? `${article} ${words}`
    : `${numbers[mention.count] ?? mention.count} ${words}`;
}

/** What the program did. */
export type Operation = "drew" | "restyled" | "masked";
const openings: Record<Operation, string> = {
  drew: "vexel-sketch drew:",
  restyled: "vexel-sketch restyled the image:",
  masked: "vexel-sketch redrew the masked area:",
};

export function describe(brief: Brief, operation: Operation = "drew"): string {
  const styles = brief.styles.map((name) => displayName(styleWords[name]));
  const tail = styles.length > 0 ? `, ${styles.join(" and ")}` : "";
  const colors = brief.overallColors.map((color) => color.name);
  if (operation === "masked" && brief.remove) {
    return "vexel-sketch filled the masked area from its surroundings.";
  }
  if (operation === "restyled" && isAbstract(brief)) {
    const tones = colors.length > 0 ? `in tones of ${joinWithAnd(colors)}` : "";
    const changes = [tones, ...styles].filter(Boolean).join(", ") || "a touch of color";
    return `${openings[operation]} ${changes}.`;
  }
  if (isAbstract(brief)) {
    const source = colors.length > 0 ? `in ${joinWithAnd(colors)}` : "from the words of the prompt";
    return `${openings[operation]} an abstract composition ${source}${tail}.`;
  }
  const parts = [
    joinWithAnd(subjectPhrases(brief)) || (operation === "restyled" ? "" : "a landscape"),
    brief.places.length > 0 ? `with ${joinWithAnd(placePhrases(brief))}` : "",
    brief.sky.size > 0 ? `under ${joinWithAnd([...brief.sky].map((name) => skyNames[name]))}` : "",
    brief.skyColor === undefined ? "" : `under a ${brief.skyColor.name} sky`,
    brief.time === undefined ? "" : timeNames[brief.time],
    brief.weather.length > 0
      ? `in ${joinWithAnd(brief.weather.map((name) => displayName(weatherWords[name])))}`
      : "",
    colors.length > 0 ? `in tones of ${joinWithAnd(colors)}` : "",
  ];
  const text = parts.filter(Boolean).join(" ");
  const sentence = text === "" ? styles.join(" and ") : text + tail;
  return `${openings[operation]} ${sentence}.`;
}

const enclosing: ReadonlySet<SubjectName> = new Set(["car", "bus", "balloon", "rowboat"]);
const mounts: ReadonlySet<SubjectName> = new Set([
  "horse",
  "unicorn",
  "elephant",
  "cow",
  "turtle",
  "dolphin",
  "dragon",
  "dinosaur",
  "bicycle",
]);

const subjectPhrases = (brief: Brief): string[] =>
  brief.subjects.flatMap((mention, i) => {
    if (brief.subjects.some((other) => other.on === i)) return [];
    const carrier = mention.on === undefined ? undefined : brief.subjects[mention.on];
    if (carrier === undefined) return [subjectPhrase(mention)];
    return [`${subjectPhrase(mention)} ${prepositionFor(carrier)} ${subjectPhrase(carrier)}`];
  });

function prepositionFor(carrier: Mention): string {
  if (enclosing.has(carrier.name)) return "in";
  return mounts.has(carrier.name) ? "riding" : "on";
}

const placePhrases = (brief: Brief): string[] =>
  brief.places.map((place) => {
    const words = [...place.colors.map((color) => color.name), placeNames[place.name]].join(" ");
    return placesWithoutArticle.has(place.name)
      ? words
      : `${startsWithVowel(words) ? "an" : "a"} ${words}`;
  });
