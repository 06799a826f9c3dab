/** Builds the scene of a brief: palette, places, subjects and weather, as SVG layers from far to near. */
import { compositions } from "../abstract/compositions.ts";
import { schemeFor } from "../abstract/schemes.ts";
import { type Brief, isAbstract } from "../prompt/brief.ts";
import type { PlaceName } from "../prompt/scene-words.ts";
import type { Random } from "../random.ts";
import { subjectOf } from "../subjects/catalog.ts";
import { type Attributes, blob, createDefs, el, group, num, path } from "../svg.ts";
import { foreground } from "./foreground.ts";
import { floorOf, fullFramePlace, type Ground, groundOf } from "./ground.ts";
import { type Palette, paletteFor } from "./palette.ts";
import { placeSubjects } from "./placement.ts";
import { scenery } from "./scenery.ts";
import { cloudCount, foregroundFor, type Setting, settingFor, timeFor } from "./setting.ts";
import { type SkyFeature, sky } from "./sky.ts";
import type { Layer, Stage } from "./stage.ts";
import { fallingWeather, skyWeather } from "./weather.ts";

export interface SceneOptions {
  readonly brief: Brief;
  /** In pixels. Only the aspect ratio matters here. */
  readonly width: number;
  readonly height: number;
  readonly detail: number;
  readonly random: Random;
  readonly phase: number;
  /** Only the subjects, on a transparent background. */
  readonly isolated: boolean;
}

export interface Scene {
  readonly width: number;
  readonly height: number;
  readonly layers: readonly Layer[];
  readonly defs: () => string;
}

/** All decisions about the scene, before anything is drawn. */
interface PreparedScene {
  readonly stage: Stage;
  readonly setting: Setting;
  readonly fullFrame: PlaceName | undefined;
  readonly floor: ReturnType<typeof floorOf>;
  readonly ground: Ground;
  readonly withLayers: (layers: readonly Layer[]) => Scene;
}

function prepareScene(options: SceneOptions): PreparedScene {
  // The short side has 1000 units. If the long side had more than 4000 then, it has 4000.
  const unit = Math.max(
    Math.min(options.width, options.height) / 1000,
    Math.max(options.width, options.height) / 4000,
  );
  const [width, height] = [options.width / unit, options.height / unit];
  const { brief, random } = options;
  const setting = settingFor(brief, random);
  const fullFrame = fullFramePlace(setting.places);
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
      r: sunRadius(palette),
    },
  };
  const ground = fullFrameGround(fullFrame) ?? groundOf(floor);
  const withLayers = (layers: readonly Layer[]): Scene => ({
    width,
    height,
    layers: layers.filter((layer) => layer.svg !== ""),
    defs: stage.defs.toSvg,
  });
  return { stage, setting, fullFrame, floor, ground, withLayers };
}

/** The sun is larger when it is low. */
function sunRadius({ night, time }: Palette): number {
  if (night) return 48;
  return time === "day" ? 52 : 62;
}

function fullFrameGround(place: PlaceName | undefined): Ground | undefined {
  if (place === "space" || place === "above") return "none";
  if (place === "underwater") return "deep";
  return place === "room" ? "table" : undefined;
}

export function buildScene(options: SceneOptions): Scene {
  const { brief, random } = options;
  const { stage, setting, fullFrame, floor, ground, withLayers } = prepareScene(options);
  if (isAbstract(brief)) {
    const scheme = schemeFor(
      random.fork("scheme"),
      brief.overallColors.map((color) => color.hex),
    );
    return withLayers(
      clipToVignette(options, stage, random.fork("composition").pick(compositions)(stage, scheme)),
    );
  }
  const subjects = placeSubjects(
    stage,
    brief,
    options.isolated && fullFrame === undefined ? "land" : ground,
    options.isolated,
  );
  if (options.isolated && subjects.length > 0) return withLayers(subjects);
  const weather = fullFrame === "space" ? [] : brief.weather;
  const { behind, before } = scenery(stage, brief, setting, cloudCount(brief), weather);
  const frame = fullFrame === undefined ? foregroundFor(brief, setting, floor, random) : "none";
  const foregroundLayers = foreground(stage, frame);
  // Tall foregrounds stand behind the subjects, low ones in front of them.
  const layers = [
    ...behind,
    ...(frame === "pines" ? foregroundLayers : []),
    ...subjects,
    ...before,
    ...(frame === "pines" ? [] : foregroundLayers),
    ...(fullFrame === "room" ? [] : fallingWeather(stage, weather)),
  ];
  return withLayers(clipToVignette(options, stage, layers));
}

/** Without a subject, an isolated scene is clipped to an uneven oval. */
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

/** The scene that an edit draws over an image: sky features, subjects and weather, without ground and scenery. */
export function overlayScene(options: SceneOptions): Scene {
  const { brief } = options;
  const { stage, withLayers } = prepareScene(options);
  const features = new Set<SkyFeature>(brief.sky);
  if (brief.time === "night" && features.size === 0) features.add("stars").add("moon");
  const skyLayers =
    features.size > 0 ? sky(stage, features, 0).filter((layer) => layer.name !== "sky") : [];
  return withLayers([
    ...skyLayers,
    ...skyWeather(stage, brief.weather),
    ...placeSubjects(stage, brief, "land"),
    ...fallingWeather(stage, brief.weather),
  ]);
}

/** The palette of a brief, to grade uploaded images with. */
export const paletteOf = (options: SceneOptions): Palette => prepareScene(options).stage.palette;

interface SceneSvgOptions {
  /** The default is all layers of the scene. */
  readonly layers?: readonly Layer[];
  /** SVG elements before the layers. */
  readonly head?: string;
  /** Further attributes of the `svg` element. */
  readonly attributes?: Attributes;
}

/** The SVG text of the whole scene, or of some layers. */
export function sceneToSvg(
  scene: Scene,
  width: number,
  height: number,
  { layers = scene.layers, head = "", attributes = {} }: SceneSvgOptions = {},
): string {
  return el(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      width,
      height,
      viewBox: `0 0 ${num(scene.width)} ${num(scene.height)}`,
      ...attributes,
    },
    el("defs", {}, scene.defs(), ""),
    head,
    ...layers.map((layer) => layer.svg),
  );
}
