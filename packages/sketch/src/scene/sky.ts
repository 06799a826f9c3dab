/** The sky: gradient, sun or moon, stars, clouds, and the features that the prompt names. */

import { mix } from "../color.ts";
import { sway } from "../subjects/subject.ts";
import { circle, ellipse, num, path, polygon, rect } from "../svg.ts";
import { cloudField } from "./clouds.ts";
import { aurora, comet, distantBirds, fireworks, galaxy, rainbow } from "./sky-features.ts";
import { type Layer, type Stage, scaledCount } from "./stage.ts";

export const skyFeatures = [
  "stars",
  "moon",
  "crescent",
  "sun",
  "rainbow",
  "aurora",
  "clouds",
  "comet",
  "fireworks",
  "galaxy",
  "birds",
  "eclipse",
] as const;
export type SkyFeature = (typeof skyFeatures)[number];

export function sky(stage: Stage, features: ReadonlySet<SkyFeature>, clouds: number): Layer[] {
  const { palette, defs, width, height } = stage;
  const stops = palette.sky.map((color, i) => [i / (palette.sky.length - 1), color] as const);
  const starry = starDensity(stage, features);
  return [
    {
      name: "sky",
      atmospheric: true,
      svg: rect(0, 0, width, height, defs.vertical(stops, 0, stage.horizon + height * 0.02)),
    },
    {
      name: "heavens",
      atmospheric: true,
      svg: [
        features.has("galaxy") ? galaxy(stage) : "",
        starry > 0 ? stars(stage, starry) : "",
        features.has("aurora") ? aurora(stage) : "",
        sunOrMoon(stage, features),
        features.has("rainbow") ? rainbow(stage) : "",
        features.has("comet") ? comet(stage) : "",
      ].join(""),
    },
    {
      name: "clouds",
      svg: cloudField(stage, features.has("clouds") ? Math.max(clouds, 7) : clouds),
    },
    {
      name: "sky sights",
      atmospheric: true,
      svg: [
        features.has("birds") ? distantBirds(stage) : "",
        features.has("fireworks") ? fireworks(stage) : "",
      ].join(""),
    },
  ].filter((layer) => layer.svg !== "");
}

function starDensity({ palette }: Stage, features: ReadonlySet<SkyFeature>): number {
  if (palette.night || features.has("stars") || features.has("galaxy")) return 1;
  return palette.time === "dusk" ? 0.35 : 0;
}

function sunOrMoon(stage: Stage, features: ReadonlySet<SkyFeature>): string {
  const { palette, defs, sun } = stage;
  const moonlike =
    features.has("moon") || features.has("crescent") || (palette.night && !features.has("sun"));
  const reach = moonlike || palette.time === "day" ? 5 : 9;
  const halo = circle(
    sun.x,
    sun.y,
    sun.r * reach,
    defs.radial([
      [0, palette.glow, moonlike ? 0.5 : 0.85],
      [0.25, palette.glow, moonlike ? 0.2 : 0.42],
      [1, palette.glow, 0],
    ]),
  );
  if (features.has("eclipse"))
    return (
      halo + circle(sun.x, sun.y, sun.r * 1.12, "#fff6dc") + circle(sun.x, sun.y, sun.r, "#0d0a1c")
    );
  if (!moonlike) {
    const rays = palette.time === "day" || features.has("sun") ? sunRays(stage) : "";
    return (
      halo +
      rays +
      circle(
        sun.x,
        sun.y,
        sun.r,
        defs.radial([
          [0, "#ffffff"],
          [0.55, palette.sun],
          [1, mix(palette.sun, palette.glow, 0.5)],
        ]),
      )
    );
  }
  return halo + moon(stage, features.has("crescent"));
}

/** Twelve faint rays. An animation turns them by one ray, so that the loop has no jump. */
function sunRays({ sun, palette, phase, defs }: Stage): string {
  const light = defs.radial(
    [
      [0, palette.sun, 0.3],
      [1, palette.sun, 0],
    ],
    [0.5, 0.5, 0.5],
  );
  const wedges = Array.from({ length: 12 }, (_, i) => {
    const angle = ((i + phase) / 12) * Math.PI * 2;
    const [near, far] = [angle - 0.07, angle + 0.07];
    const reach = sun.r * 6;
    return polygon([
      [sun.x, sun.y],
      [sun.x + Math.cos(near) * reach, sun.y + Math.sin(near) * reach],
      [sun.x + Math.cos(far) * reach, sun.y + Math.sin(far) * reach],
    ]);
  });
  return path(wedges.join(""), light);
}

function moon({ sun, palette, defs }: Stage, crescent: boolean): string {
  const { x, y, r } = sun;
  const face = defs.radial(
    [
      [0, "#fffdf2"],
      [0.7, palette.sun],
      [1, mix(palette.sun, palette.glow, 0.4)],
    ],
    [0.4, 0.38, 0.7],
  );
  if (crescent) {
    return path(
      `M${num(x + r * 0.35)} ${num(y - r * 0.94)}A${num(r)} ${num(r)} 0 1 0 ${num(x + r * 0.35)} ${num(y + r * 0.94)}A${num(r * 0.8)} ${num(r * 0.8)} 0 1 1 ${num(x + r * 0.35)} ${num(y - r * 0.94)}Z`,
      face,
    );
  }
  const shade = mix(palette.sun, palette.glow, 0.55);
  const crater = (dx: number, dy: number, size: number): string =>
    ellipse(x + dx * r, y + dy * r, size * r, size * r * 0.94, shade, { "fill-opacity": 0.45 });
  return (
    circle(x, y, r, face) +
    crater(-0.3, -0.25, 0.24) +
    crater(0.28, 0.18, 0.3) +
    crater(-0.2, 0.42, 0.16) +
    crater(0.38, -0.4, 0.14) +
    crater(-0.58, 0.14, 0.11) +
    crater(0.02, -0.62, 0.09)
  );
}

function stars(stage: Stage, share: number): string {
  const random = stage.random.fork("stars");
  const count = scaledCount(stage, (150 * share * (stage.width * stage.horizon)) / 600_000);
  const dots = [0, 1, 2].map((level) => {
    let d = "";
    for (let i = 0; i < count / 3; i++) {
      const [x, y] = [random.between(0, stage.width), stage.horizon * random.next() ** 1.35 * 0.98];
      const r = random.between(0.7, 1.3) + level * 0.35;
      d += `M${num(x - r)} ${num(y)}a${num(r)} ${num(r)} 0 1 0 ${num(r * 2)} 0a${num(r)} ${num(r)} 0 1 0 ${num(-r * 2)} 0Z`;
    }
    return path(d, "#fffdf0", {
      "fill-opacity": (0.5 + level * 0.2) * (0.78 + 0.22 * sway(stage.phase, level / 3)),
    });
  });
  const sparks = Array.from({ length: Math.min(14, scaledCount(stage, 7 * share)) }, (_, i) => {
    const [x, y, r] = [
      random.between(0, stage.width),
      stage.horizon * random.between(0.03, 0.62),
      random.between(4, 8) * (1 + 0.3 * sway(stage.phase, i / 5)),
    ];
    return `M${num(x)} ${num(y - r)}Q${num(x + r * 0.12)} ${num(y - r * 0.12)} ${num(x + r)} ${num(y)}Q${num(x + r * 0.12)} ${num(y + r * 0.12)} ${num(x)} ${num(y + r)}Q${num(x - r * 0.12)} ${num(y + r * 0.12)} ${num(x - r)} ${num(y)}Q${num(x - r * 0.12)} ${num(y - r * 0.12)} ${num(x)} ${num(y - r)}Z`;
  });
  return dots.join("") + path(sparks.join(""), "#ffffff", { "fill-opacity": 0.9 });
}
