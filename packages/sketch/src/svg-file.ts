/**
 * The output format svg. Styles that are pixel filters elsewhere are SVG filters or stylesheets here, which the viewer
 * applies.
 */

import type { Style } from "./prompt/scene-words.ts";
import type { ImageSpec } from "./render.ts";
import { sceneFor } from "./render.ts";
import { sceneToSvg } from "./scene/scene.ts";
import type { Layer } from "./scene/stage.ts";
import { el, group } from "./svg.ts";

const rough = (scale: number, frequency: number): string =>
  el("feTurbulence", {
    type: "fractalNoise",
    baseFrequency: frequency,
    numOctaves: 3,
    seed: 7,
    result: "n",
  }) +
  el("feDisplacementMap", {
    in: "SourceGraphic",
    in2: "n",
    scale,
    xChannelSelector: "R",
    yChannelSelector: "G",
  });
const matrix = (values: string): string => el("feColorMatrix", { type: "matrix", values });
const saturation = (amount: number): string =>
  el("feColorMatrix", { type: "saturate", values: String(amount) });

const filters: Partial<Record<Style, string>> = {
  watercolor:
    rough(16, 0.016) + matrix("0.86 0 0 0 0.12 0 0.86 0 0 0.12 0 0 0.86 0 0.11 0 0 0 1 0"),
  oil: rough(22, 0.05),
  pointillist: rough(14, 0.2),
  mosaic: rough(20, 0.04),
  pastel: rough(5, 0.3) + matrix("0.72 0 0 0 0.24 0 0.72 0 0 0.23 0 0 0.72 0 0.22 0 0 0 1 0"),
  mono: saturation(0),
  sepia: matrix("0.39 0.77 0.19 0 0 0.35 0.69 0.17 0 0 0.27 0.53 0.13 0 0 0 0 0 1 0"),
  woodblock: matrix("0.82 0 0 0 0.1 0 0.8 0 0 0.09 0 0 0.74 0 0.08 0 0 0 1 0"),
  papercut: el("feDropShadow", {
    dx: 5,
    dy: 9,
    stdDeviation: 7,
    "flood-color": "#201a2a",
    "flood-opacity": 0.4,
  }),
};

const outlined = (paper: string, ink: string, width: number): string =>
  `path,circle,ellipse,rect{fill:${paper};fill-opacity:1;stroke:${ink};stroke-width:${width};stroke-linejoin:round}.air{display:none}`;
const stylesheets: Partial<Record<Style, string>> = {
  pencil: outlined("#fbf8f1", "#4a4a54", 1.4),
  ink: outlined("#f8f2e4", "#1a1822", 2),
  neon: outlined("#120424", "#ff4fb4", 2.2),
  comic: "path,circle,ellipse,rect{stroke:#17151d;stroke-width:2.2;stroke-linejoin:round}",
};

export function svgFile(spec: ImageSpec): string {
  const { brief, width, height, options, isolated } = spec;
  const scene = sceneFor(spec, 0);
  const [style] = brief.styles;
  const stylesheet = style && stylesheets[style];
  const filter =
    ((style && filters[style]) ?? "") +
    (options.saturation === 1 ? "" : saturation(options.saturation));
  // Each sheet of paper has its own shadow, so the filter of papercut applies to every layer.
  const filtersLayers = style === "papercut";
  const layers = scene.layers.map((layer) => wrapLayer(layer, stylesheet, filtersLayers)).join("");
  const isFiltered = filter !== "" && !filtersLayers;
  const body = isFiltered ? group({ filter: "url(#look)" }, layers) : layers;
  const hasPaper = stylesheet !== undefined && style !== "comic" && !isolated;
  const head = [
    stylesheet === undefined ? "" : el("style", {}, stylesheet),
    filter === "" ? "" : filterDefinition(filter),
    hasPaper ? el("rect", { width: "100%", height: "100%" }) : "",
  ].join("");
  const svg = sceneToSvg(scene, width, height, { layers: [{ name: "all", svg: body }], head });
  return `<?xml version="1.0" encoding="UTF-8"?>\n${svg}\n`;
}

/** Stylesheets hide atmospheric layers by the class `air`: outlines of light and haze would be wrong. */
function wrapLayer(layer: Layer, stylesheet: string | undefined, filtered: boolean): string {
  const atmospheric = layer.atmospheric === true;
  return group(
    {
      ...(atmospheric && stylesheet !== undefined && { class: "air" }),
      ...(filtered && !atmospheric && { filter: "url(#look)" }),
    },
    layer.svg,
  );
}

/** The region is larger than the image, so that displaced and shadowed edges are not cut off. */
function filterDefinition(filter: string): string {
  const region = { x: "-5%", y: "-5%", width: "110%", height: "110%" };
  return el(
    "defs",
    {},
    el("filter", { id: "look", "color-interpolation-filters": "sRGB", ...region }, filter),
  );
}
