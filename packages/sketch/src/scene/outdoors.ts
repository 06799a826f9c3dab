/** Draws outdoor scenery: backdrops, the floor in front of them, and a shore where subjects need one. */
import { type Color, mix } from "../color.ts";
import { desert, mesas, otherWorld, snowfield } from "../places/barren-land.ts";
import { city, street, village } from "../places/city.ts";
import { forest, trunks, woodFloor } from "../places/forest.ts";
import { grass, hills, meadow, rows } from "../places/meadow.ts";
import { mountains, volcano } from "../places/mountains.ts";
import { beach, island, river, shore } from "../places/shores.ts";
import { leafy } from "../places/terrain.ts";
import { lake, sea } from "../places/water.ts";
import type { PlaceName } from "../prompt/scene-words.ts";
import { type Backdrop, backdropsOf, type Floor, floorOf } from "./ground.ts";
import type { Setting } from "./setting.ts";
import type { Layer, Stage } from "./stage.ts";

export interface OutdoorScene {
  readonly stage: Stage;
  readonly setting: Setting;
  /** The color that the prompt gives a place. */
  readonly namedColor: (place: PlaceName) => Color | undefined;
}

/** `above` are the layers of the sky. */
export function outdoors(
  scene: OutdoorScene,
  above: readonly Layer[],
): { readonly behind: readonly Layer[]; readonly before: readonly Layer[] } {
  const { stage, setting } = scene;
  const floor = floorOf(setting.places, setting.snowy, stage.random);
  const backdrop = backdropsOf(setting.places, floor, stage.random).flatMap((place) =>
    drawBackdrop(scene, place),
  );
  const land = drawFloor(scene, floor, backdrop);
  const bank = setting.needsShore
    ? shore(stage, floor === "sea" ? "#8a8f6a" : grassColor(setting), stage.height * 0.755)
    : [];
  const before = floor === "wood" ? trunks(stage) : [];
  return { behind: [...above, ...backdrop, ...land, ...bank], before };
}

function grassColor({ autumn, dry }: Setting): Color {
  if (autumn) return "#c9a24f";
  return dry ? "#c4b055" : grass;
}

function leafColor({ autumn, snowy }: Setting): Color | undefined {
  if (autumn) return "#cf7a35";
  return snowy ? "#5f7f88" : undefined;
}

function drawBackdrop({ stage, setting, namedColor }: OutdoorScene, place: Backdrop): Layer[] {
  const named = namedColor(place);
  switch (place) {
    case "mountains":
      return named === undefined ? mountains(stage) : mountains(stage, named, 0.5);
    case "volcano":
      return volcano(stage, named);
    case "city":
      return city(stage, named);
    case "village":
      return village(stage, named);
    case "forest":
      return forest(stage, named ?? leafColor(setting), setting.autumn ? leafy : undefined);
    case "jungle":
      return forest(stage, named ?? "#2f7a4a", leafy);
    case "canyon":
      return mesas(stage, named);
    case "island":
      return island(stage);
    case "hills":
      return hills(stage, named ?? grassColor(setting));
  }
}

function drawFloor(scene: OutdoorScene, floor: Floor, backdrop: readonly Layer[]): Layer[] {
  const { stage, setting, namedColor } = scene;
  const waterColor = namedColor("sea") ?? namedColor("lake") ?? namedColor("river");
  switch (floor) {
    case "sea":
      return sea(stage, waterColor);
    case "beach":
      return beach(stage, namedColor("beach"), waterColor);
    case "lake":
      return lake(stage, waterColor, backdrop);
    case "street":
      return street(stage, namedColor("street"));
    case "desert":
      return desert(stage, namedColor("desert"));
    case "snow":
      return snowfield(stage, namedColor("snow"));
    case "moonscape":
      return otherWorld(stage, namedColor("moonscape"));
    case "mars":
      return otherWorld(stage, namedColor("mars") ?? "#c2643f");
    case "wood":
      return woodFloor(stage, woodFloorColor(setting));
    case "field":
      return field(scene);
    case "garden":
      return garden(scene);
    case "river":
      return withRiver(scene, lawn(scene), waterColor);
    case "meadow":
    case "park":
      return lawn(scene);
  }
}

function woodFloorColor({ autumn, places }: Setting): Color | undefined {
  if (autumn) return "#a8743f";
  return places.includes("jungle") ? "#3f7a45" : undefined;
}

function field({ stage, setting, namedColor }: OutdoorScene): Layer[] {
  const soil = setting.autumn ? "#8a6a3f" : "#7a6a48";
  const crop = stage.random.fork("crop").pick(["#9a86d8", "#d8b24a", "#6fa04f"]);
  return rows(stage, soil, namedColor("field") ?? crop);
}

function garden({ stage, setting, namedColor }: OutdoorScene): Layer[] {
  const named = namedColor("garden");
  const colors: [Color, ...Color[]] =
    named === undefined
      ? ["#e2493f", "#f4b84a", "#f6f1e6", "#b58be0", "#f08aa8"]
      : [named, mix(named, "#ffffff", 0.3)];
  return meadow(stage, grassColor(setting), { colors, amount: 1.5 });
}

function lawn({ stage, setting, namedColor }: OutdoorScene): Layer[] {
  const hasFlowers = stage.random.fork("flowers").chance(0.6) && !setting.autumn;
  return meadow(
    stage,
    namedColor("meadow") ?? namedColor("park") ?? grassColor(setting),
    hasFlowers ? { colors: ["#f6f1e6", "#f4cf5a", "#f0a0b8"], amount: 0.4 } : undefined,
  );
}

/** The river is a part of the nearest layer of the lawn. */
function withRiver({ stage }: OutdoorScene, layers: Layer[], color: Color | undefined): Layer[] {
  return layers.map((layer, i) =>
    i === layers.length - 1 ? { ...layer, svg: layer.svg + river(stage, color) } : layer,
  );
}
