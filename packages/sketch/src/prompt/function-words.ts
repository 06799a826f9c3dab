/**
 * Function words: they decide which subject rides or holds another, and which colors belong to the sky or to the whole
 * image.
 */
import type { SubjectName } from "../subjects/catalog.ts";

const set = <T extends string = string>(words: string): ReadonlySet<T> =>
  new Set(words.split(" ") as T[]);

/** "a cat in a boat", "a robot riding a whale" */
export const riding = set(
  "on onto riding rides in inside aboard driving drives steering atop sitting flying rowing sailing",
);
/** Between two subjects these words mean that the first does not ride the second. */
export const separating = set(
  "and with over under near beside behind above below by next around at against through",
);
/** A color before these words has no noun, so it applies to the whole image. */
export const flushing = set(
  "over under on in at with near behind above of beside by through against",
);
/** These words after a color are no noun. */
export const joining = set(
  "and or the a an is are very mostly style please palette tones colours colors background",
);
export const holding = set("with holding holds carrying under");
export const holders = set<SubjectName>(
  "person robot astronaut cat dog bear rabbit penguin fox panda mouse frog snowman wizard",
);
export const holdable = set<SubjectName>(
  "umbrella toyBalloon kite flower sunflower tulip heart book gift lantern apple cup iceCream guitar star",
);
export const sameInPlural = set("fish sheep deer koi people aliens oranges");
export const copulas = set("is are was were");
export const colored = set("coloured colored");
export const skyNouns = set("sky skies heavens");
export const overallNouns = set(
  "background tones tone palette colours colors hues shades theme light scheme",
);
export const closeWords = set("portrait close-up closeup headshot selfie icon sticker logo emoji");
export const additions = set("add put place insert");
export const removals = set("remove erase delete eliminate");

type Shape = "wide" | "tall" | "square";
export const shapes: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  ...[..."landscape wide panorama panoramic banner widescreen horizontal".split(" ")].map(
    (word): [string, Shape] => [word, "wide"],
  ),
  ["portrait", "tall"],
  ["vertical", "tall"],
  ["square", "square"],
]);
