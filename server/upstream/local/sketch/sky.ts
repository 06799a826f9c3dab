/** The sky: gradient, sun or moon, stars, clouds, and what else may be seen up there. */

import { cloudField } from "./clouds.ts";
import { mix, tone } from "./colour.ts";
import { lit } from "./palette.ts";
import { type Layer, many, type Stage } from "./stage.ts";
import { sway } from "./subjects/subject.ts";
import { circle, curve, ellipse, num, type Point, path, polygon, rect, stroke } from "./svg.ts";

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
  const { palette, sheet, width, height } = stage;
  const stops = palette.sky.map((colour, i) => [i / (palette.sky.length - 1), colour] as const);
  const starry =
    palette.night || features.has("stars") || features.has("galaxy")
      ? 1
      : palette.time === "dusk"
        ? 0.35
        : 0;
  return [
    {
      name: "sky",
      air: true,
      svg: rect(0, 0, width, height, sheet.vertical(stops, 0, stage.horizon + height * 0.02)),
    },
    {
      name: "heavens",
      air: true,
      svg: [
        features.has("galaxy") ? galaxy(stage) : "",
        starry > 0 ? stars(stage, starry) : "",
        features.has("aurora") ? aurora(stage) : "",
        orb(stage, features),
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
      air: true,
      svg: [
        features.has("birds") ? farBirds(stage) : "",
        features.has("fireworks") ? fireworks(stage) : "",
      ].join(""),
    },
  ].filter((layer) => layer.svg !== "");
}

function orb(stage: Stage, features: ReadonlySet<SkyFeature>): string {
  const { palette, sheet, sun } = stage;
  const moonlike =
    features.has("moon") || features.has("crescent") || (palette.night && !features.has("sun"));
  const reach = moonlike ? 5 : palette.time === "day" ? 5 : 9;
  const halo = circle(
    sun.x,
    sun.y,
    sun.r * reach,
    sheet.radial([
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
        sheet.radial([
          [0, "#ffffff"],
          [0.55, palette.sun],
          [1, mix(palette.sun, palette.glow, 0.5)],
        ]),
      )
    );
  }
  return halo + moon(stage, features.has("crescent"));
}

/** A dozen faint wedges; an animation turns them by one wedge and is back where it was. */
function sunRays({ sun, palette, phase, sheet }: Stage): string {
  const light = sheet.radial(
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

function moon({ sun, palette, sheet }: Stage, crescent: boolean): string {
  const { x, y, r } = sun;
  const face = sheet.radial(
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
  const count = many(stage, (150 * share * (stage.width * stage.horizon)) / 600_000);
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
  const sparks = Array.from({ length: Math.min(14, many(stage, 7 * share)) }, (_, i) => {
    const [x, y, r] = [
      random.between(0, stage.width),
      stage.horizon * random.between(0.03, 0.62),
      random.between(4, 8) * (1 + 0.3 * sway(stage.phase, i / 5)),
    ];
    return `M${num(x)} ${num(y - r)}Q${num(x + r * 0.12)} ${num(y - r * 0.12)} ${num(x + r)} ${num(y)}Q${num(x + r * 0.12)} ${num(y + r * 0.12)} ${num(x)} ${num(y + r)}Q${num(x - r * 0.12)} ${num(y + r * 0.12)} ${num(x - r)} ${num(y)}Q${num(x - r * 0.12)} ${num(y - r * 0.12)} ${num(x)} ${num(y - r)}Z`;
  });
  return dots.join("") + path(sparks.join(""), "#ffffff", { "fill-opacity": 0.9 });
}

function rainbow({ width, horizon, sun }: Stage): string {
  const x = sun.x < width / 2 ? width * 0.66 : width * 0.34;
  const r = Math.min(width * 0.46, horizon * 0.84);
  return ["#e8564f", "#f2994a", "#f4d35e", "#6fbf73", "#4fa3d8", "#7b6fd0"]
    .map((colour, i) =>
      circle(x, horizon + r * 0.12, r - i * 13, "none", {
        stroke: colour,
        "stroke-width": 14,
        "stroke-opacity": 0.42,
      }),
    )
    .join("");
}

function aurora(stage: Stage): string {
  const random = stage.random.fork("aurora");
  const { width, horizon, sheet, phase } = stage;
  return ["#4ff0b0", "#5fd0f0", "#b07df0"]
    .map((colour, band) => {
      const top: Point[] = [];
      const foot: Point[] = [];
      for (let i = 0; i <= 14; i++) {
        const x = (i / 14) * (width + 200) - 100;
        const wave =
          Math.sin(i * 0.9 + band * 2 + sway(phase, band / 3) * 0.7) * 46 +
          Math.sin(i * 0.37 + band) * 60;
        const y = horizon * (0.36 + band * 0.1) + wave;
        foot.push([x, y]);
        top.push([x + 40, y - horizon * random.between(0.24, 0.4)]);
      }
      return path(
        `${curve(foot)}L${curve(top.reverse()).slice(1)}Z`,
        sheet.linear([
          [0, colour, 0],
          [0.7, colour, 0.3],
          [0.95, colour, 0.55],
          [1, colour, 0],
        ]),
      );
    })
    .join("");
}

function galaxy(stage: Stage): string {
  const random = stage.random.fork("galaxy");
  const { width, horizon, sheet } = stage;
  return Array.from({ length: 16 }, (_, i) => {
    const t = i / 15;
    const colour = random.pick(["#8a6fd8", "#5f8fe0", "#e08ac0", "#f0d8b0"]);
    return ellipse(
      width * (0.05 + t * 0.9) + random.between(-40, 40),
      horizon * (0.9 - t * 0.8) + random.between(-40, 40),
      random.between(120, 240),
      random.between(60, 120),
      sheet.radial([
        [0, colour, 0.3],
        [1, colour, 0],
      ]),
    );
  }).join("");
}

function comet({ width, horizon, sheet }: Stage): string {
  const [x, y] = [width * 0.3, horizon * 0.36];
  return (
    path(
      `M${num(x)} ${num(y)}L${num(x + 300)} ${num(y - 176)}L${num(x + 12)} ${num(y + 9)}Z`,
      sheet.linear(
        [
          [0, "#fffbe8", 0.9],
          [1, "#fffbe8", 0],
        ],
        [0, 1, 1, 0],
      ),
    ) + circle(x + 4, y + 3, 8, "#fffdf2")
  );
}

function farBirds(stage: Stage): string {
  const random = stage.random.fork("far birds");
  const [cx, cy] = [
    stage.width * random.between(0.25, 0.7),
    stage.horizon * random.between(0.3, 0.6),
  ];
  const ink = lit(stage.palette, "#2f2c44");
  return Array.from({ length: 6 }, (_, i) => {
    const [x, y, r] = [
      cx + (i - 2.5) * 34 + random.between(-10, 10),
      cy + Math.abs(i - 2.5) * 14 + random.between(-8, 8),
      random.between(8, 14),
    ];
    const lift = r * (0.7 + 0.3 * sway(stage.phase, i / 6));
    return stroke(
      `M${num(x - r)} ${num(y - lift * 0.5)}Q${num(x - r * 0.4)} ${num(y - lift)} ${num(x)} ${num(y)}Q${num(x + r * 0.4)} ${num(y - lift)} ${num(x + r)} ${num(y - lift * 0.5)}`,
      ink,
      2.4,
    );
  }).join("");
}

function fireworks(stage: Stage): string {
  const random = stage.random.fork("fireworks");
  const { width, horizon, phase } = stage;
  return Array.from({ length: many(stage, 4) }, (_, burst) => {
    const [x, y, reach] = [
      width * random.between(0.12, 0.88),
      horizon * random.between(0.12, 0.55),
      random.between(70, 150),
    ];
    const colour = random.pick(["#ffd257", "#ff7a8a", "#7de0ff", "#b48aff", "#8affb0"]);
    const open = 0.62 + 0.38 * ((phase + burst / 4) % 1);
    let lines = "";
    let tips = "";
    for (let i = 0; i < 18; i++) {
      const angle = (i / 18) * Math.PI * 2;
      const far = reach * open * random.between(0.85, 1.1);
      lines += `M${num(x + Math.cos(angle) * far * 0.3)} ${num(y + Math.sin(angle) * far * 0.3)}L${num(x + Math.cos(angle) * far)} ${num(y + Math.sin(angle) * far + far * 0.06)}`;
      tips += circle(
        x + Math.cos(angle) * far,
        y + Math.sin(angle) * far + far * 0.06,
        3.4,
        tone(colour, 0.1),
      );
    }
    return stroke(lines, colour, 2.4, { "stroke-opacity": 0.8 }) + tips;
  }).join("");
}
