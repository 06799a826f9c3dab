/** What the prompt leaves open is decided here: place, hour, clouds, what frames the view. */

import type { Brief } from "../prompt/brief.ts";
import type { PlaceName } from "../prompt/scene-words.ts";
import type { Random } from "../random.ts";
import { subjectOf } from "../subjects/catalog.ts";
import { defaultPlacesFor } from "./default-places.ts";
import type { Frame } from "./foreground.ts";
import { floorOf, groundOf, type Setting } from "./scenery.ts";
import type { TimeOfDay } from "./times-of-day.ts";

const nightly = new Set(["stars", "moon", "crescent", "aurora", "fireworks", "galaxy", "comet"]);
const dryWords = new Set(["savanna", "savannah", "prairie"]);
const neverNight = new Set(["rainbow", "sun"]);

export function settingFor(brief: Brief, random: Random): Setting {
  const named = brief.places.map((place) => place.name);
  const stances = brief.subjects.map((mention) => subjectOf(mention.name).stands);
  // Whoever needs water decides, then whoever is ridden, then whoever is named first.
  const hero =
    brief.subjects.find((mention) => subjectOf(mention.name).stands === "water") ??
    brief.subjects[brief.subjects[0]?.on ?? 0];
  let places: PlaceName[] = named;
  if (named.length === 0) {
    if (brief.styles.includes("neon")) places = stances.includes("table") ? ["room"] : ["grid"];
    else if (hero !== undefined) places = [random.fork("home").pick(defaultPlacesFor(hero.name))];
    else if (brief.sky.has("galaxy") || brief.sky.has("aurora")) places = ["mountains"];
    else places = [random.fork("home").pick(["mountains", "sea", "hills", "lake", "forest"])];
  }
  // Fish swim under the sea, boats need water to float on.
  if (stances.includes("undersea") && !places.includes("room") && !places.includes("space"))
    places = ["underwater"];
  const floats = brief.subjects.some((mention) => subjectOf(mention.name).stands === "water");
  const wet = places.some((place) =>
    [
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
    ].includes(place),
  );
  if (floats && !wet) places = [...places, "lake"];
  const stands = brief.subjects.some(
    (mention) =>
      mention.on === undefined &&
      (subjectOf(mention.name).stands === "ground" || subjectOf(mention.name).stands === "table"),
  );
  const snowy = brief.weather.includes("snow") || places.includes("snow");
  const floor = floorOf(places, snowy, random);
  return {
    places,
    ground: groundOf(floor),
    needsShore: stands && groundOf(floor) === "water",
    snowy,
    autumn: brief.time === "golden" && !snowy,
    dry:
      brief.places.some((place) => dryWords.has(place.word)) ||
      brief.subjects.some((mention) => ["lion", "giraffe", "elephant"].includes(mention.name)),
  };
}

export function timeFor(brief: Brief, setting: Setting, random: Random): TimeOfDay {
  if (brief.time !== undefined) return brief.time;
  if ([...brief.sky].some((feature) => nightly.has(feature))) return "night";
  if (
    setting.places.some((place) => place === "moonscape" || place === "space") ||
    brief.styles.includes("neon")
  )
    return "night";
  if (
    brief.subjects.some(
      (mention) => mention.name === "ghost" || mention.name === "saucer" || mention.name === "owl",
    )
  )
    return "night";
  if ([...brief.sky].some((feature) => neverNight.has(feature)) || brief.skyColor !== undefined)
    return "day";
  if (
    brief.subjects.some(
      (mention) =>
        mention.name === "campfire" || mention.name === "lantern" || mention.name === "candle",
    )
  )
    return "dusk";
  if (brief.weather.length > 0) return random.pick(["day", "day", "dawn", "dusk"]);
  return random.pick(["day", "day", "day", "golden", "sunset", "dawn"]);
}

export function cloudCount(brief: Brief): number {
  if (brief.sky.has("clouds")) return 8;
  if (brief.weather.some((kind) => kind === "storm" || kind === "rain")) return 8;
  if (brief.weather.includes("cloudy")) return 10;
  return brief.weather.includes("fog")
    ? 1
    : brief.sky.has("stars") || brief.sky.has("aurora") || brief.sky.has("galaxy")
      ? 0
      : 4;
}

export function frameFor(brief: Brief, setting: Setting, floor: string, random: Random): Frame {
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
