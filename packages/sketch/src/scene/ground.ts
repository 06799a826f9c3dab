/** Which ground and which backdrop a scene has. */
import type { PlaceName } from "../prompt/scene-words.ts";
import type { Random } from "../random.ts";

/** The surfaces that subjects stand on. */
export type Ground = "land" | "water" | "table" | "none" | "deep";

const backdrops = [
  "mountains",
  "volcano",
  "city",
  "village",
  "forest",
  "jungle",
  "canyon",
  "hills",
  "island",
] as const satisfies readonly PlaceName[];
export type Backdrop = (typeof backdrops)[number];

const floors = [
  "sea",
  "beach",
  "lake",
  "river",
  "street",
  "desert",
  "meadow",
  "field",
  "garden",
  "park",
  "snow",
  "moonscape",
  "mars",
] as const satisfies readonly PlaceName[];
/** The surface in the lower part of the image. */
export type Floor = (typeof floors)[number] | "wood";

const fullFramePlaces: readonly PlaceName[] = ["space", "underwater", "above", "room", "grid"];

/** The place that fills the whole frame, if there is one. */
export const fullFramePlace = (places: readonly PlaceName[]): PlaceName | undefined =>
  places.find((place) => fullFramePlaces.includes(place));

export function floorOf(places: readonly PlaceName[], snowy: boolean, random: Random): Floor {
  const named = floors.find((floor) => places.includes(floor));
  if (named !== undefined) return named;
  if (places.includes("forest") || places.includes("jungle")) return snowy ? "snow" : "wood";
  if (snowy && !places.includes("island")) return "snow";
  return defaultFloor(places, random.fork("floor choice"));
}

/** The floor in front of a backdrop if the prompt names none. */
function defaultFloor(places: readonly PlaceName[], random: Random): Floor {
  if (places.includes("mountains")) return random.pick(["lake", "meadow", "meadow", "river"]);
  if (places.includes("volcano") || places.includes("island")) return "sea";
  if (places.includes("city")) return random.pick(["lake", "lake", "park"]);
  return places.includes("canyon") ? "desert" : "meadow";
}

export const groundOf = (floor: Floor): Ground =>
  floor === "sea" || floor === "lake" ? "water" : "land";

export function backdropsOf(
  places: readonly PlaceName[],
  floor: Floor,
  random: Random,
): readonly Backdrop[] {
  const named = backdrops.filter((place) => places.includes(place));
  return named.length > 0 ? named : defaultBackdrops(floor, random.fork("backdrop choice"));
}

function defaultBackdrops(floor: Floor, random: Random): readonly Backdrop[] {
  switch (floor) {
    case "sea":
    case "beach":
      return random.chance(0.25) ? ["island"] : [];
    case "lake":
    case "river":
      return [random.pick(["mountains", "hills", "forest"])];
    case "street":
      return ["city"];
    case "desert":
      return random.chance(0.6) ? ["canyon"] : [];
    case "snow":
      return [random.pick(["mountains", "forest"])];
    case "wood":
      return ["forest"];
    case "moonscape":
    case "mars":
      return [];
    default:
      return ["hills"];
  }
}
