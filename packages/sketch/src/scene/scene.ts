/** A brief becomes a scene: light, places, subjects, weather, in layers from far to near. */
import { compositions } from "../abstract/compositions.ts";
import { schemeFor } from "../abstract/schemes.ts";
import { type Brief, isAbstract } from "../prompt/brief.ts";
import type { PlaceName } from "../prompt/scene-words.ts";
import type { Random } from "../random.ts";
import { subjectOf } from "../subjects/catalog.ts";
import { blob, createDefs, el, group, num, path } from "../svg.ts";
import { foreground } from "./foreground.ts";
import { type Palette, paletteFor } from "./palette.ts";
import { placeSubjects } from "./placement.ts";
import {
  floorOf,
  fullFramePlace,
  type Ground,
  groundOf,
  type Setting,
  scenery,
} from "./scenery.ts";
import { cloudCount, frameFor, settingFor, timeFor } from "./setting.ts";
import { type SkyFeature, sky } from "./sky.ts";
import type { Layer, Stage } from "./stage.ts";
import { fallingWeather, skyWeather } from "./weather.ts";

export interface SceneOptions {
  readonly brief: Brief;
  /** In pixels; only the ratio matters here. */
  readonly width: number;
  readonly height: number;
  readonly detail: number;
  readonly random: Random;
  readonly phase: number;
  /** Only the subjects, on nothing. */
  readonly isolated: boolean;
}

export interface Scene {
  readonly width: number;
  readonly height: number;
  readonly layers: readonly Layer[];
  readonly defs: () => string;
}

/** The stage with everything decided, before anything is drawn. */
interface PreparedScene {
  readonly stage: Stage;
  readonly setting: Setting;
  readonly special: PlaceName | undefined;
  readonly floor: ReturnType<typeof floorOf>;
  readonly ground: Ground;
  readonly done: (layers: readonly Layer[]) => Scene;
}

function prepareScene(options: SceneOptions): PreparedScene {
  // The short side has 1000 units, unless the picture is a ribbon: then the long side has 4000.
  const unit = Math.max(
    Math.min(options.width, options.height) / 1000,
    Math.max(options.width, options.height) / 4000,
  );
  const [width, height] = [options.width / unit, options.height / unit];
  const { brief, random } = options;
  const setting = settingFor(brief, random);
  const special = fullFramePlace(setting.places);
  const floor = floorOf(setting.places, setting.snowy, random);
  const flyersOnly =
    brief.subjects.length > 0 &&
    brief.subjects.every((mention) => subjectOf(mention.name).stands === "air");
  const horizon =
    height * ((flyersOnly ? 0.74 : 0.6) + random.fork("horizon").between(-0.03, 0.03));
  const light = {
    time: timeFor(brief, setting, random.fork("time")),
    weather: brief.weather,
    overallColors: brief.overallColors.map((color) => color.hex),
    ...(brief.skyColor !== undefined && { sky: brief.skyColor.hex }),
  };
  const palette = paletteFor(light, random.fork("palette"));
  const side = random.fork("sun").sign();
  const stage: Stage = {
    width,
    height,
    horizon,
    palette,
    random,
    defs: createDefs(),
    detail: options.detail,
    phase: options.phase,
    sun: {
      x: width * (0.5 + side * random.fork("sun at").between(0.14, 0.26)),
      y: horizon - 20 - palette.sunHeight * (horizon - 130),
      r: palette.night ? 48 : palette.time === "day" ? 52 : 62,
    },
  };
  const floating = special === "space" || special === "above";
  const ground: Ground = floating
    ? "none"
    : special === "underwater"
      ? "deep"
      : special === "room"
        ? "table"
        : groundOf(floor);
  const done = (layers: readonly Layer[]): Scene => ({
    width,
    height,
    layers: layers.filter((layer) => layer.svg !== ""),
    defs: stage.defs.toSvg,
  });
  return { stage, setting, special, floor, ground, done };
}

export function buildScene(options: SceneOptions): Scene {
  const { brief, random } = options;
  const { stage, setting, special, floor, ground, done } = prepareScene(options);
  if (isAbstract(brief)) {
    const scheme = schemeFor(
      random.fork("scheme"),
      brief.overallColors.map((color) => color.hex),
    );
    return done(
      clipToVignette(options, stage, random.fork("composition").pick(compositions)(stage, scheme)),
    );
  }
  const subjects = placeSubjects(
    stage,
    brief,
    options.isolated && special === undefined ? "land" : ground,
    options.isolated,
  );
  if (options.isolated && subjects.length > 0) return done(subjects);
  const weather = special === "space" ? [] : brief.weather;
  const { behind, before } = scenery(stage, brief, setting, cloudCount(brief), weather);
  const frame = special === undefined ? frameFor(brief, setting, floor, random) : "none";
  const trees = foreground(stage, frame);
  // Tall frames stand behind the subjects, low ones in front of their feet.
  const layers = [
    ...behind,
    ...(frame === "pines" ? trees : []),
    ...subjects,
    ...before,
    ...(frame === "pines" ? [] : trees),
    ...(special === "room" ? [] : fallingWeather(stage, weather)),
  ];
  return done(clipToVignette(options, stage, layers));
}

/** Scenery without a subject on a transparent ground: a vignette with a soft, uneven outline. */
function clipToVignette(
  options: SceneOptions,
  stage: Stage,
  layers: readonly Layer[],
): readonly Layer[] {
  if (!options.isolated) return layers;
  const { width, height } = stage;
  const outline = blob(
    options.random.fork("vignette"),
    width / 2,
    height / 2,
    width * 0.44,
    height * 0.44,
    0.06,
    14,
  );
  const clip = stage.defs.clip(path(outline, "#000000"));
  return [
    { name: "vignette", svg: group({ "clip-path": clip }, ...layers.map((layer) => layer.svg)) },
  ];
}

/** What an edit lays over a picture: named sights of the sky, subjects, weather; no ground, no scenery. */
export function overlayScene(options: SceneOptions): Scene {
  const { brief } = options;
  const { stage, done } = prepareScene(options);
  const features = new Set<SkyFeature>(brief.sky);
  if (brief.time === "night" && features.size === 0) features.add("stars").add("moon");
  const heavens =
    features.size > 0 ? sky(stage, features, 0).filter((layer) => layer.name !== "sky") : [];
  return done([
    ...heavens,
    ...skyWeather(stage, brief.weather),
    ...placeSubjects(stage, brief, "land"),
    ...fallingWeather(stage, brief.weather),
  ]);
}

/** The light a brief asks for, for grading pictures that were not drawn here. */
export const paletteOf = (options: SceneOptions): Palette => prepareScene(options).stage.palette;

/** The whole drawing, or its first layers only. */
export function sceneToSvg(
  drawing: Scene,
  width: number,
  height: number,
  layers = drawing.layers,
  more = "",
): string {
  return el(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      width,
      height,
      viewBox: `0 0 ${num(drawing.width)} ${num(drawing.height)}`,
    },
    el("defs", {}, drawing.defs(), ""),
    more,
    ...layers.map((layer) => layer.svg),
  );
}
