/** From the places of a brief to painted layers: what stands behind, what one stands on. */
import type { Color } from "../color.ts";
import { mix } from "../color.ts";
import { desert, mesas, otherWorld, snowfield } from "../places/barren-land.ts";
import { city, street, village } from "../places/city.ts";
import { cloudSea } from "../places/cloud-sea.ts";
import { forest, trunks, woodFloor } from "../places/forest.ts";
import { grass, hills, meadow, rows } from "../places/meadow.ts";
import { mountains, volcano } from "../places/mountains.ts";
import { neonGrid } from "../places/neon-grid.ts";
import { room } from "../places/room.ts";
import { beach, island, river, shore } from "../places/shores.ts";
import { space } from "../places/space.ts";
import { leafy } from "../places/terrain.ts";
import { underwater } from "../places/underwater.ts";
import { lake, sea } from "../places/water.ts";
import type { Brief } from "../prompt/brief.ts";
import { groundColorsByWord, type PlaceName } from "../prompt/scene-words.ts";
import type { Weather } from "./palette.ts";
import { sky } from "./sky.ts";
import type { Layer, Stage } from "./stage.ts";
import { fallingWeather, skyWeather } from "./weather.ts";

export type Ground = "land" | "water" | "table" | "none" | "deep";

export interface Setting {
  readonly places: readonly PlaceName[];
  readonly ground: Ground;
  /** Someone must stand where there is only water. */
  readonly needsShore: boolean;
  readonly snowy: boolean;
  readonly autumn: boolean;
  /** Grass of the savanna. */
  readonly dry: boolean;
}

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
type Floor = (typeof floors)[number];
const whole: readonly PlaceName[] = ["space", "underwater", "above", "room", "grid"];

/** The place that takes over the entire picture, if any. */
export const fullFramePlace = (places: readonly PlaceName[]): PlaceName | undefined =>
  places.find((place) => whole.includes(place));

/** What lies at the foot of a backdrop when the prompt does not say. */
const naturalFloor = (places: readonly PlaceName[], random: Stage["random"]): Floor => {
  if (places.includes("mountains")) return random.pick(["lake", "meadow", "meadow", "river"]);
  if (places.includes("volcano") || places.includes("island")) return "sea";
  if (places.includes("city")) return random.pick(["lake", "lake", "park"]);
  if (places.includes("canyon")) return "desert";
  return "meadow";
};

export function floorOf(
  places: readonly PlaceName[],
  snowy: boolean,
  random: Stage["random"],
): Floor | "wood" {
  const named = floors.find((floor) => places.includes(floor));
  if (named !== undefined) return named;
  if (places.includes("forest") || places.includes("jungle")) return snowy ? "snow" : "wood";
  return snowy && !places.includes("island")
    ? "snow"
    : naturalFloor(places, random.fork("floor choice"));
}

export const groundOf = (floor: Floor | "wood"): Ground =>
  floor === "sea" || floor === "lake" ? "water" : "land";

/** All of the scenery, sky included, from far to near. */
export function scenery(
  stage: Stage,
  brief: Brief,
  setting: Setting,
  clouds: number,
  weather: readonly Weather[],
): { readonly behind: Layer[]; readonly before: Layer[] } {
  const { places } = setting;
  const paint = (name: PlaceName): Color | undefined => {
    const place = brief.places.find((one) => one.name === name);
    return place && (place.colors[0]?.hex ?? groundColorsByWord[place.word]);
  };
  const special = fullFramePlace(places);
  if (special === "space")
    return {
      behind: space(
        stage,
        brief.overallColors.map((color) => color.hex),
      ),
      before: [],
    };
  if (special === "underwater") {
    const layers = underwater(stage, paint("underwater") ?? paint("sea"));
    return { behind: layers.slice(0, -2), before: layers.slice(-2) };
  }
  if (special === "grid") return { behind: neonGrid(stage), before: [] };
  const above = [...sky(stage, brief.sky, clouds), ...skyWeather(stage, weather)];
  if (special === "above")
    return { behind: [...above, ...cloudSea(stage).slice(0, 2)], before: cloudSea(stage).slice(2) };
  const outside = outdoors(stage, setting, paint, above);
  return special === "room"
    ? {
        behind: room(stage, paint("room") ?? brief.overallColors[0]?.hex, [
          ...outside.behind,
          ...outside.before,
          ...fallingWeather(stage, weather),
        ]),
        before: [],
      }
    : outside;
}

function outdoors(
  stage: Stage,
  setting: Setting,
  paint: (name: PlaceName) => Color | undefined,
  above: Layer[],
): { behind: Layer[]; before: Layer[] } {
  const { places, snowy, autumn, dry } = setting;
  const floor = floorOf(places, snowy, stage.random);
  const green = autumn ? "#c9a24f" : dry ? "#c4b055" : grass;
  const leaves = paint("forest") ?? (autumn ? "#cf7a35" : snowy ? "#5f7f88" : undefined);
  const named = backdrops.filter((place) => places.includes(place));
  const standing = named.length > 0 ? named : naturalBackdrop(floor, stage);
  const behind = standing.flatMap((place): Layer[] => {
    if (place === "mountains") {
      const named = paint("mountains");
      return named === undefined ? mountains(stage) : mountains(stage, named, 0.5);
    }
    if (place === "volcano") return volcano(stage, paint("volcano"));
    if (place === "city") return city(stage, paint("city"));
    if (place === "village") return village(stage, paint("village"));
    if (place === "forest") return forest(stage, leaves, autumn ? leafy : undefined);
    if (place === "jungle") return forest(stage, paint("jungle") ?? "#2f7a4a", leafy);
    if (place === "canyon") return mesas(stage, paint("canyon"));
    if (place === "island") return island(stage);
    return hills(stage, paint("hills") ?? green);
  });
  const water = paint("sea") ?? paint("lake") ?? paint("river");
  const land = ((): Layer[] => {
    if (floor === "sea") return sea(stage, water);
    if (floor === "beach") return beach(stage, paint("beach"), water);
    if (floor === "lake") return lake(stage, water, behind);
    if (floor === "street") return street(stage, paint("street"));
    if (floor === "desert") return desert(stage, paint("desert"));
    if (floor === "snow") return snowfield(stage, paint("snow"));
    if (floor === "moonscape") return otherWorld(stage, paint("moonscape"));
    if (floor === "mars") return otherWorld(stage, paint("mars") ?? "#c2643f");
    if (floor === "wood")
      return woodFloor(
        stage,
        autumn ? "#a8743f" : places.includes("jungle") ? "#3f7a45" : undefined,
      );
    if (floor === "field")
      return rows(
        stage,
        autumn ? "#8a6a3f" : "#7a6a48",
        paint("field") ?? stage.random.fork("crop").pick(["#9a86d8", "#d8b24a", "#6fa04f"]),
      );
    if (floor === "garden") {
      const colors = paint("garden");
      return meadow(stage, green, {
        colors:
          colors === undefined
            ? ["#e2493f", "#f4b84a", "#f6f1e6", "#b58be0", "#f08aa8"]
            : [colors, mix(colors, "#ffffff", 0.3)],
        amount: 1.5,
      });
    }
    const flowers = stage.random.fork("flowers").chance(0.6) && !autumn;
    const layers = meadow(
      stage,
      paint("meadow") ?? paint("park") ?? green,
      flowers ? { colors: ["#f6f1e6", "#f4cf5a", "#f0a0b8"], amount: 0.4 } : undefined,
    );
    if (floor !== "river") return layers;
    return layers.map((layer, i) =>
      i === layers.length - 1 ? { ...layer, svg: layer.svg + river(stage, water) } : layer,
    );
  })();
  const bank = setting.needsShore
    ? shore(stage, floor === "sea" ? "#8a8f6a" : green, stage.height * 0.755)
    : [];
  const before = floor === "wood" ? trunks(stage) : [];
  return { behind: [...above, ...behind, ...land, ...bank], before };
}

const naturalBackdrop = (
  floor: Floor | "wood",
  stage: Stage,
): readonly (typeof backdrops)[number][] => {
  const random = stage.random.fork("backdrop choice");
  if (floor === "sea" || floor === "beach") return random.chance(0.25) ? ["island"] : [];
  if (floor === "lake" || floor === "river") return [random.pick(["mountains", "hills", "forest"])];
  if (floor === "street") return ["city"];
  if (floor === "desert") return random.chance(0.6) ? ["canyon"] : [];
  if (floor === "snow") return [random.pick(["mountains", "forest"])];
  if (floor === "moonscape" || floor === "mars" || floor === "wood")
    return floor === "wood" ? ["forest"] : [];
  return ["hills"];
};
