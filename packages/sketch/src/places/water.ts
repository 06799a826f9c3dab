/** Water to the horizon: a sea with waves, or a calm lake with reflections. */
import { type Color, gradientColor, mix, tone } from "../color.ts";
import { lit } from "../scene/palette.ts";
import { type Layer, type Stage, scaledCount } from "../scene/stage.ts";
import { ellipse, group, num, type Point, path, rect, stroke } from "../svg.ts";
import { under } from "./terrain.ts";

export const seaColor = "#2f7fa3";

interface Water {
  readonly far: Color;
  readonly middle: Color;
  readonly near: Color;
}

/** Water reflects the horizon in the distance and the upper sky nearby; its own color is between them. */
export function waterColors(stage: Stage, color: Color): Water {
  const { sky } = stage.palette;
  const own = lit(stage.palette, color);
  return {
    far: mix(mix(sky.at(-1) ?? own, sky.at(-2) ?? own, 0.45), own, 0.3),
    middle: mix(mix(sky[1] ?? own, sky[2] ?? own, 0.4), own, 0.55),
    near: tone(mix(sky[0] ?? own, own, 0.55), -0.04),
  };
}

export function sea(stage: Stage, color: Color = seaColor): Layer[] {
  const { defs, width, height, horizon } = stage;
  const { near, middle, far } = waterColors(stage, color);
  const swell: Layer[] = [0, 1, 2].map((i) => {
    const t = (i + 1) / 3;
    const y = horizon + (height - horizon) * (0.34 + i * 0.26);
    return {
      name: `swell ${i}`,
      svg: crest(stage, y, 7 + i * 9, gradientColor([far, middle, near], 0.5 + t * 0.45), i),
    };
  });
  return [
    {
      name: "sea",
      svg:
        rect(
          0,
          horizon,
          width,
          height - horizon,
          defs.vertical(
            [
              [0, far],
              [0.4, middle],
              [1, near],
            ],
            horizon,
            height,
          ),
        ) +
        glitter(stage) +
        ripples(stage, far, 60),
    },
    ...swell,
  ];
}

/** One wave across the image. In an animation it moves by one wavelength, so that the loop has no jump. */
function crest(stage: Stage, y: number, height: number, color: Color, index: number): string {
  const { width, defs, phase } = stage;
  const random = stage.random.fork(`swell ${index}`);
  const length = width / (3.2 - index * 0.5);
  const shift = (random.next() + phase * (index % 2 ? -1 : 1)) * length;
  const points: Point[] = Array.from({ length: 41 }, (_, i) => {
    const x = (i / 40) * (width + 60) - 30;
    const a = ((x + shift) / length) * Math.PI * 2;
    return [x, y - Math.sin(a) * height * 0.5 - Math.sin(a * 2 + 1) * height * 0.22] as const;
  });
  const foam = points.map(([x, py]) => [x, py + 1.5] as const);
  return (
    path(
      under(points, stage.height),
      defs.vertical(
        [
          [0, tone(color, 0.05)],
          [1, tone(color, -0.05)],
        ],
        y - height,
        stage.height,
      ),
      { "fill-opacity": 0.86 },
    ) +
    stroke(
      `M${foam.map(([x, py]) => `${num(x)} ${num(py)}`).join("L")}`,
      tone(color, 0.24),
      2 + index,
      { "stroke-opacity": 0.4 },
    )
  );
}

/** The glitter of the sun on the water: short highlights, longer and farther apart towards the viewer. */
function glitter(stage: Stage): string {
  const { width, height, horizon, sun, palette, phase } = stage;
  const random = stage.random.fork("glitter");
  const low = 1 - Math.min(1, Math.max(0, palette.sunHeight));
  const strength = palette.night ? 0.55 : 0.3 + low * 0.5;
  let d = "";
  for (let i = 0; i < scaledCount(stage, 90); i++) {
    const t = random.next() ** 1.7;
    const y = horizon + 3 + t * (height - horizon) * 0.9;
    const spread = sun.r * (0.5 + t * 2.6);
    const x = sun.x + random.between(-1, 1) * random.next() * spread;
    const half =
      (6 + t * 44) * random.between(0.4, 1) * (0.8 + 0.2 * Math.sin(phase * Math.PI * 2 + i));
    const thick = 0.8 + t * 3.4;
    d += `M${num(x - half)} ${num(y)}Q${num(x)} ${num(y - thick)} ${num(x + half)} ${num(y)}Q${num(x)} ${num(y + thick)} ${num(x - half)} ${num(y)}Z`;
  }
  const warm = mix(palette.sun, palette.glow, 0.4);
  return (
    ellipse(
      sun.x,
      horizon + (height - horizon) * 0.3,
      Math.min(width * 0.3, sun.r * 3.4),
      (height - horizon) * 0.5,
      stage.defs.radial([
        [0, warm, 0.32 * strength],
        [1, warm, 0],
      ]),
    ) + path(d, warm, { "fill-opacity": 0.75 * strength })
  );
}

function ripples(stage: Stage, color: Color, count: number): string {
  const { width, height, horizon, phase } = stage;
  const random = stage.random.fork("ripples");
  let d = "";
  for (let i = 0; i < scaledCount(stage, count); i++) {
    const t = random.next() ** 1.4;
    const y = horizon + 4 + t * (height - horizon);
    const length = (18 + t * 90) * random.between(0.5, 1);
    const x =
      random.between(-0.05, 1) * width + Math.sin((phase + i * 0.13) * Math.PI * 2) * (2 + t * 8);
    d += `M${num(x)} ${num(y)}q${num(length * 0.25)} ${num(-1 - t * 3)} ${num(length * 0.5)} 0t${num(length * 0.5)} 0`;
  }
  return stroke(d, tone(color, 0.14), 1.6, { "stroke-opacity": 0.4 });
}

/** A lake reflects the layers behind it. */
export function lake(
  stage: Stage,
  color: Color = "#4f8fa8",
  behind: readonly Layer[] = [],
): Layer[] {
  const { defs, width, height, horizon } = stage;
  const { near, far } = waterColors(stage, color);
  const mirror = group(
    { transform: `translate(0 ${num(horizon * 2)}) scale(1 -1)`, opacity: 0.42 },
    ...behind.map((layer) => layer.svg),
  );
  return [
    {
      name: "lake",
      svg:
        rect(
          0,
          horizon,
          width,
          height - horizon,
          defs.vertical(
            [
              [0, mix(far, stage.palette.haze, 0.3)],
              [1, near],
            ],
            horizon,
            height,
          ),
        ) +
        group(
          { "clip-path": defs.clip(rect(0, horizon, width, height - horizon, "#000000")) },
          mirror,
        ) +
        rect(
          0,
          horizon,
          width,
          height - horizon,
          defs.vertical(
            [
              [0, far, 0.1],
              [0.6, near, 0.45],
              [1, near, 0.8],
            ],
            horizon,
            height,
          ),
        ) +
        glitter(stage) +
        ripples(stage, far, 46) +
        rect(0, horizon - 1.5, width, 3, tone(far, 0.12), { "fill-opacity": 0.7 }),
    },
  ];
}
