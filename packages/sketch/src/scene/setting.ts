/** Decides what the prompt leaves open: place, time of day, clouds, foreground. */
import type { Brief, Mention } from "../prompt/brief.ts";
import type { PlaceName } from "../prompt/scene-words.ts";
import type { Random } from "../random.ts";
import { type SubjectName, subjectOf } from "../subjects/catalog.ts";
import { defaultPlacesFor } from "./default-places.ts";
import type { ForegroundKind } from "./foreground.ts";
import { floorOf, groundOf } from "./ground.ts";
import type { SkyFeature } from "./sky.ts";
import type { TimeOfDay } from "./times-of-day.ts";

export interface Setting {
  readonly places: readonly PlaceName[];
  /** A subject must stand, but the ground is water. */
  readonly needsShore: boolean;
  readonly snowy: boolean;
  readonly autumn: boolean;
  /** Dry grass, as in the savanna. */
  readonly dry: boolean;
}

const nightFeatures: ReadonlySet<SkyFeature> = new Set<SkyFeature>([
  "stars",
  "moon",
  "crescent",
  "aurora",
  "fireworks",
  "galaxy",
  "comet",
]);
const dayFeatures: ReadonlySet<SkyFeature> = new Set<SkyFeature>(["rainbow", "sun"]);
const nightSubjects: ReadonlySet<SubjectName> = new Set<SubjectName>(["ghost", "saucer", "owl"]);
const duskSubjects: ReadonlySet<SubjectName> = new Set<SubjectName>([
  "campfire",
  "lantern",
  "candle",
]);
const savannaAnimals: ReadonlySet<SubjectName> = new Set<SubjectName>([
  "lion",
  "giraffe",
  "elephant",
]);
const dryWords = new Set(["savanna", "savannah", "prairie"]);
/** Places that have water, or where a boat is drawn without it. */
const placesForBoats: ReadonlySet<PlaceName> = new Set<PlaceName>([
  "sea",
  "lake",
  "river",
  "beach",
  "underwater",
  "island",
  "volcano",
  "room",
  "space",
  "above",
  "grid",
]);

export function settingFor(brief: Brief, random: Random): Setting {
  const places = placesFor(brief, random);
  const snowy = brief.weather.includes("snow") || places.includes("snow");
  const hasWater = groundOf(floorOf(places, snowy, random)) === "water";
  const someoneStands = brief.subjects.some(
    ({ name, on }) => on === undefined && ["ground", "table"].includes(subjectOf(name).stands),
  );
  return {
    places,
    needsShore: someoneStands && hasWater,
    snowy,
    autumn: brief.time === "golden" && !snowy,
    dry:
      brief.places.some((place) => dryWords.has(place.word)) ||
      brief.subjects.some((mention) => savannaAnimals.has(mention.name)),
  };
}

function placesFor(brief: Brief, random: Random): readonly PlaceName[] {
  const named = brief.places.map((place) => place.name);
  const places = named.length > 0 ? named : [defaultPlace(brief, random)];
  const stands = brief.subjects.map((mention) => subjectOf(mention.name).stands);
  // Fish need an underwater scene, boats need water.
  if (stands.includes("undersea") && !places.includes("room") && !places.includes("space")) {
    return ["underwater"];
  }
  const lacksWater = !places.some((place) => placesForBoats.has(place));
  return stands.includes("water") && lacksWater ? [...places, "lake"] : places;
}

function defaultPlace(brief: Brief, random: Random): PlaceName {
  const { subjects, styles, sky } = brief;
  const standsOf = ({ name }: Mention): string => subjectOf(name).stands;
  if (styles.includes("neon")) {
    return subjects.some((mention) => standsOf(mention) === "table") ? "room" : "grid";
  }
  // The place suits the first subject that needs water, else the mount of the first subject, else the first subject.
  const hero =
    subjects.find((mention) => standsOf(mention) === "water") ?? subjects[subjects[0]?.on ?? 0];
  if (hero !== undefined) return random.fork("home").pick(defaultPlacesFor(hero.name));
  if (sky.has("galaxy") || sky.has("aurora")) return "mountains";
  return random.fork("home").pick(["mountains", "sea", "hills", "lake", "forest"]);
}

export function timeFor(brief: Brief, setting: Setting, random: Random): TimeOfDay {
  if (brief.time !== undefined) return brief.time;
  const sky = [...brief.sky];
  const hasSubject = (names: ReadonlySet<SubjectName>): boolean =>
    brief.subjects.some((mention) => names.has(mention.name));
  const isDark =
    sky.some((feature) => nightFeatures.has(feature)) ||
    setting.places.some((place) => place === "moonscape" || place === "space") ||
    brief.styles.includes("neon") ||
    hasSubject(nightSubjects);
  if (isDark) return "night";
  if (sky.some((feature) => dayFeatures.has(feature)) || brief.skyColor !== undefined) return "day";
  if (hasSubject(duskSubjects)) return "dusk";
  if (brief.weather.length > 0) return random.pick(["day", "day", "dawn", "dusk"]);
  return random.pick(["day", "day", "day", "golden", "sunset", "dawn"]);
}

export function cloudCount(brief: Brief): number {
  if (brief.sky.has("clouds")) return 8;
  if (brief.weather.some((kind) => kind === "storm" || kind === "rain")) return 8;
  if (brief.weather.includes("cloudy")) return 10;
  if (brief.weather.includes("fog")) return 1;
  const isClear = brief.sky.has("stars") || brief.sky.has("aurora") || brief.sky.has("galaxy");
  return isClear ? 0 : 4;
}

export function foregroundFor(
  brief: Brief,
  setting: Setting,
  floor: string,
  random: Random,
): ForegroundKind {
  if (brief.styles.includes("flat")) return "none";
  if (floor === "lake")
    return setting.places.includes("city")
      ? "none"
      : random.fork("frame").pick(["pines", "reeds", "pines"]);
  if (floor === "snow") return "pines";
  if (floor === "meadow" || floor === "garden" || floor === "river" || floor === "park")
    return "grass";
  return "none";
}
