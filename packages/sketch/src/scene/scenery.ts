/** The scenery of a scene: sky, places and weather behind and in front of the subjects. */
import type { Color } from "../color.ts";
import { cloudSea } from "../places/cloud-sea.ts";
import { neonGrid } from "../places/neon-grid.ts";
import { room } from "../places/room.ts";
import { space } from "../places/space.ts";
import { underwater } from "../places/underwater.ts";
import type { Brief } from "../prompt/brief.ts";
import { groundColorsByWord, type PlaceName } from "../prompt/scene-words.ts";
import { fullFramePlace } from "./ground.ts";
import { outdoors } from "./outdoors.ts";
import type { Weather } from "./palette.ts";
import type { Setting } from "./setting.ts";
import { sky } from "./sky.ts";
import type { Layer, Stage } from "./stage.ts";
import { fallingWeather, skyWeather } from "./weather.ts";

export interface Scenery {
  /** Layers behind the subjects, from far to near. */
  readonly behind: readonly Layer[];
  /** Layers in front of the subjects. */
  readonly before: readonly Layer[];
}

/** All layers of the scenery, including the sky. */
export function scenery(
  stage: Stage,
  brief: Brief,
  setting: Setting,
  clouds: number,
  weather: readonly Weather[],
): Scenery {
  const overallColors = brief.overallColors.map((color) => color.hex);
  const namedColor = (name: PlaceName): Color | undefined => {
    const place = brief.places.find((one) => one.name === name);
    return place && (place.colors[0]?.hex ?? groundColorsByWord[place.word]);
  };
  const place = fullFramePlace(setting.places);
  if (place === "space") return { behind: space(stage, overallColors), before: [] };
  if (place === "underwater") {
    const layers = underwater(stage, namedColor("underwater") ?? namedColor("sea"));
    return { behind: layers.slice(0, -2), before: layers.slice(-2) };
  }
  if (place === "grid") return { behind: neonGrid(stage), before: [] };
  const above = [...sky(stage, brief.sky, clouds), ...skyWeather(stage, weather)];
  if (place === "above") {
    const layers = cloudSea(stage);
    return { behind: [...above, ...layers.slice(0, 2)], before: layers.slice(2) };
  }
  const outside = outdoors({ stage, setting, namedColor }, above);
  if (place !== "room") return outside;
  const view = [...outside.behind, ...outside.before, ...fallingWeather(stage, weather)];
  return { behind: room(stage, namedColor("room") ?? overallColors[0], view), before: [] };
}
