/** Hills as a backdrop, and meadow, field, garden or lawn as the ground. */
import { type Color, mix, tone, turnHue } from "../color.ts";
import type { Random } from "../random.ts";
import { atDistance, lit } from "../scene/palette.ts";
import { type Layer, type Stage, scaledCount } from "../scene/stage.ts";
import { sway } from "../subjects/subject.ts";
import { circle, ellipse, num, type Point, path, stroke } from "../svg.ts";
import { heightAt, leafy, rolling, treesAlong, under } from "./terrain.ts";

export const grass = "#7fae55";

export function hills(stage: Stage, color: Color = grass): Layer[] {
  const { palette, defs, width, horizon } = stage;
  return [0, 1, 2].map((i) => {
    const random = stage.random.fork(`hill ${i}`);
    const nearness = 0.3 + i * 0.2;
    const shade = atDistance(palette, mix(color, "#4f7f78", 0.55 - i * 0.2), nearness);
    const line = rolling(
      random,
      width,
      horizon - 74 + i * 30,
      54 - i * 8,
      (1.5 + i * 0.5) * (width / 1000),
    );
    const trees =
      i === 0
        ? ""
        : path(
            treesAlong(
              random.fork("trees"),
              line,
              width,
              scaledCount(stage, (16 + i * 14) * (width / 1000)),
              26 + i * 12,
              leafy,
            ),
            mix(shade, atDistance(palette, "#2f5a4a", nearness), 0.55),
          );
    return {
      name: `hill ${i}`,
      svg:
        trees +
        path(
          under(line, horizon + 70),
          defs.vertical(
            [
              [0, tone(shade, 0.03)],
              [1, mix(shade, palette.haze, 0.4)],
            ],
            horizon - 120,
            horizon + 30,
          ),
        ),
    };
  });
}

export type Bloom = { readonly colors: readonly [Color, ...Color[]]; readonly amount: number };

/** The ground: two areas of grass, then blades and flowers that are larger towards the viewer. */
export function meadow(stage: Stage, color: Color = grass, bloom?: Bloom): Layer[] {
  const { palette, defs, width, height, horizon } = stage;
  const random = stage.random.fork("meadow");
  const green = lit(palette, color);
  const far = mix(green, palette.haze, 0.3);
  const flowers =
    bloom === undefined ? "" : blooms(stage, random.fork("blooms"), bloom, horizon + 40, height);
  return [0, 1, 2].map((i) => {
    const t = i / 2;
    const y = horizon + 12 + t ** 1.3 * (height - horizon) * 0.46;
    const line = rolling(random.fork(`swell ${i}`), width, y, 14 + t * 42, 1.3 * (width / 1000));
    const shade = mix(far, tone(turnHue(green, t * 6), -t * 0.045), 0.35 + t * 0.65);
    const fill = defs.vertical(
      [
        [0, tone(turnHue(shade, -8), 0.07)],
        [0.28, shade],
        [1, tone(turnHue(shade, 8), -0.1)],
      ],
      y - 40,
      height,
    );
    const tufts = blades(
      stage,
      random.fork(`blades ${i}`),
      line,
      shade,
      scaledCount(stage, 60 + i * 70),
      9 + i * 6,
    );
    return {
      name: `meadow ${i}`,
      svg: path(under(line, height), fill) + tufts + (i === 2 ? flowers : ""),
    };
  });
}

function blades(
  stage: Stage,
  random: Random,
  line: readonly Point[],
  color: Color,
  count: number,
  size: number,
): string {
  const { width, height, phase } = stage;
  const tufts: [string, string] = ["", ""];
  for (let i = 0; i < count; i++) {
    const x = random.between(0, width);
    const top = heightAt(line, x);
    const t = random.next() ** 1.2;
    const y = top + 4 + t * (height - top);
    const tall = size * (0.5 + t * 1.1) * random.between(0.7, 1.2);
    const lean = random.between(-6, 6) + sway(phase, x / width) * 2.5;
    tufts[i % 2 ? 1 : 0] +=
      `M${num(x)} ${num(y)}q${num(lean * 0.3)} ${num(-tall * 0.6)} ${num(lean)} ${num(-tall)}M${num(x + 4)} ${num(y)}q${num(lean * 0.2)} ${num(-tall * 0.4)} ${num(lean + 4)} ${num(-tall * 0.7)}`;
  }
  return (
    stroke(tufts[0], tone(color, 0.07), 1.8, { "stroke-opacity": 0.6 }) +
    stroke(tufts[1], tone(color, -0.07), 1.8, { "stroke-opacity": 0.5 })
  );
}

function blooms(stage: Stage, random: Random, bloom: Bloom, top: number, bottom: number): string {
  const { width, palette, phase } = stage;
  const spots = Array.from({ length: scaledCount(stage, 120 * bloom.amount) }, () => ({
    x: random.between(-10, width + 10),
    t: random.next() ** 1.3,
  })).sort((a, b) => a.t - b.t);
  let stems = "";
  const heads: string[] = [];
  for (const { x, t } of spots) {
    const y = top + t * (bottom - top) * 1.04;
    const size = 3 + t * 13;
    const lean = sway(phase, x / width) * size * 0.3;
    const color = lit(palette, random.pick(bloom.colors));
    stems += `M${num(x)} ${num(y)}Q${num(x)} ${num(y - size)} ${num(x + lean)} ${num(y - size * 1.8)}`;
    heads.push(
      t < 0.35
        ? circle(x + lean, y - size * 1.8, size * 0.6, mix(color, palette.haze, 0.25))
        : poppy(x + lean, y - size * 1.9, size, color),
    );
  }
  return stroke(stems, lit(palette, "#4f7f42"), 2, { "stroke-opacity": 0.8 }) + heads.join("");
}

const poppy = (x: number, y: number, r: number, color: Color): string =>
  ellipse(x - r * 0.36, y, r * 0.56, r * 0.5, tone(color, -0.05)) +
  ellipse(x + r * 0.36, y, r * 0.56, r * 0.5, tone(color, -0.02)) +
  ellipse(x, y - r * 0.2, r * 0.52, r * 0.5, tone(color, 0.04)) +
  ellipse(x, y + r * 0.14, r * 0.5, r * 0.36, color) +
  circle(x, y - r * 0.02, r * 0.17, tone(color, -0.3));

/** Plowed or planted rows that run to the vanishing point. */
export function rows(stage: Stage, color: Color, crop: Color): Layer[] {
  const { palette, defs, width, height, horizon } = stage;
  const soil = lit(palette, color);
  const plant = lit(palette, crop);
  const vanish = width * 0.5;
  const stripes = Array.from({ length: 15 }, (_, i) => {
    const [a, b] = [(i - 7.9) * width * 0.19, (i - 7.1) * width * 0.19];
    return `M${num(vanish + a * 0.06)} ${num(horizon + 6)}L${num(vanish + b * 0.06)} ${num(horizon + 6)}L${num(vanish + b * 1.4)} ${num(height + 4)}L${num(vanish + a * 1.4)} ${num(height + 4)}Z`;
  });
  const random = stage.random.fork("rows");
  const tufts: string[] = [];
  for (let r = 0; r < 13; r++) {
    const t = (r / 12) ** 1.7;
    const [y, size] = [horizon + 12 + t * (height - horizon), 4 + t * 26];
    for (let i = 0; i < 15; i++) {
      const x = vanish + (i - 7.5) * width * 0.19 * (0.06 + t * 1.34);
      if (x > -40 && x < width + 40)
        tufts.push(
          circle(
            x + random.between(-2, 2),
            y - size * 0.3,
            size * random.between(0.7, 0.95),
            mix(tone(plant, random.between(-0.04, 0.06)), palette.haze, 0.35 * (1 - t)),
          ),
        );
    }
  }
  return [
    {
      name: "rows",
      svg:
        path(
          `M0 ${num(horizon)}H${num(width)}V${num(height)}H0Z`,
          defs.vertical(
            [
              [0, mix(soil, palette.haze, 0.4)],
              [1, soil],
            ],
            horizon,
            height,
          ),
        ) +
        path(stripes.join(""), tone(soil, -0.06)) +
        tufts.join(""),
    },
  ];
}
