/** Beach, river, island, and a strip of shore for subjects to stand on. */
import { type Color, mix, tone } from "../color.ts";
import { noise1 } from "../random.ts";
import { lit } from "../scene/palette.ts";
import { type Layer, type Stage, scaledCount } from "../scene/stage.ts";
import { num, type Point, path, stroke } from "../svg.ts";
import { rolling, under } from "./terrain.ts";
import { sea, seaColor, waterColors } from "./water.ts";

export function beach(stage: Stage, color: Color = "#ecd3a2", water: Color = seaColor): Layer[] {
  const { defs, width, height, palette, phase } = stage;
  const random = stage.random.fork("beach");
  const sand = lit(palette, color);
  const { near } = waterColors(stage, water);
  const line: Point[] = rolling(
    random,
    width,
    stage.horizon + (height - stage.horizon) * 0.5,
    26,
    2,
  );
  const lap = Math.sin(phase * Math.PI * 2) * 5;
  const moved = (by: number): Point[] => line.map(([x, y]) => [x, y + by + lap] as const);
  let grains = "";
  for (let i = 0; i < scaledCount(stage, 160); i++) {
    const [x, y] = [
      random.between(0, width),
      random.between(stage.horizon + (height - stage.horizon) * 0.64, height),
    ];
    grains += `M${num(x)} ${num(y)}h${num(random.between(2, 5))}`;
  }
  const shells = Array.from({ length: scaledCount(stage, 6) }, () => {
    const [x, y, r] = [
      random.between(0, width),
      random.between(height * 0.88, height * 0.99),
      random.between(4, 9),
    ];
    return path(
      `M${num(x - r)} ${num(y)}Q${num(x)} ${num(y - r * 1.8)} ${num(x + r)} ${num(y)}Z`,
      lit(palette, random.pick(["#f7e6da", "#f2b8a8", "#e9c9b0"])),
    );
  });
  return [
    ...sea(stage, water).slice(0, 2),
    {
      name: "sand",
      svg:
        path(under(moved(-14), height), mix(near, sand, 0.45), { "fill-opacity": 0.75 }) +
        path(under(moved(-5), height), lit(palette, "#ffffff"), { "fill-opacity": 0.85 }) +
        path(under(moved(3), height), mix(sand, lit(palette, "#8a6f52"), 0.3)) +
        path(
          under(
            line.map(([x, y]) => [x, y + 26] as const),
            height,
          ),
          defs.vertical(
            [
              [0, tone(sand, 0.02)],
              [1, tone(sand, -0.08)],
            ],
            stage.horizon,
            height,
          ),
        ) +
        stroke(grains, tone(sand, -0.12), 1.6, { "stroke-opacity": 0.4 }) +
        shells.join(""),
    },
  ];
}

/** A strip of land at the bottom, for subjects that stand while the ground is water. */
export function shore(stage: Stage, color: Color, top: number): Layer[] {
  const { defs, width, height, palette } = stage;
  const random = stage.random.fork("shore");
  const land = lit(palette, color);
  const line = rolling(random, width, top, 16, 2.4);
  let blades = "";
  for (let i = 0; i < scaledCount(stage, 150); i++) {
    const x = random.between(0, width);
    const [y, tall] = [top + random.between(4, height - top), random.between(10, 26)];
    blades += `M${num(x)} ${num(y)}q${num(random.between(-5, 5))} ${num(-tall * 0.6)} ${num(random.between(-8, 8))} ${num(-tall)}`;
  }
  return [
    {
      name: "shore",
      svg:
        path(
          under(line, height),
          defs.vertical(
            [
              [0, tone(land, 0.05)],
              [1, tone(land, -0.1)],
            ],
            top,
            height,
          ),
        ) + stroke(blades, tone(land, 0.08), 2, { "stroke-opacity": 0.7 }),
    },
  ];
}

export function river(stage: Stage, color: Color = "#5f9fb8"): string {
  const { defs, width, height, horizon, palette } = stage;
  const random = stage.random.fork("river");
  const noise = noise1(random, 1);
  const { near, far } = waterColors(stage, color);
  const [left, right]: [Point[], Point[]] = [[], []];
  for (let i = 0; i <= 16; i++) {
    const t = i / 16;
    const y = horizon + 6 + t ** 1.6 * (height - horizon + 20);
    const middle =
      width * (0.5 + Math.sin(t * 5 + 0.6) * 0.14 * (1 - t * 0.3) + noise(t * 3) * 0.04);
    const half = 3 + t ** 1.7 * width * 0.17;
    left.push([middle - half, y]);
    right.unshift([middle + half, y]);
  }
  const outline = [...left, ...right].map(([x, y]) => `${num(x)} ${num(y)}`).join("L");
  return (
    path(
      `M${outline}Z`,
      defs.vertical(
        [
          [0, mix(far, palette.haze, 0.4)],
          [1, near],
        ],
        horizon,
        height,
      ),
    ) +
    stroke(`M${left.map(([x, y]) => `${num(x)} ${num(y)}`).join("L")}`, tone(far, 0.16), 3, {
      "stroke-opacity": 0.4,
    })
  );
}

export function island(stage: Stage): Layer[] {
  const { width, horizon, palette, defs } = stage;
  const random = stage.random.fork("island");
  const [x, half] = [width * random.between(0.3, 0.7), width * 0.2];
  const green = lit(palette, "#5c9a58");
  const sand = lit(palette, "#ecd3a2");
  return [
    {
      name: "island",
      svg:
        path(
          `M${num(x - half)} ${num(horizon + 8)}Q${num(x - half * 0.5)} ${num(horizon - 100)} ${num(x - half * 0.05)} ${num(horizon - 120)}Q${num(x + half * 0.6)} ${num(horizon - 90)} ${num(x + half)} ${num(horizon + 8)}Z`,
          defs.vertical(
            [
              [0, tone(green, 0.05)],
              [1, mix(green, palette.haze, 0.3)],
            ],
            horizon - 120,
            horizon,
          ),
        ) +
        path(
          `M${num(x - half * 1.15)} ${num(horizon + 10)}Q${num(x)} ${num(horizon - 20)} ${num(x + half * 1.15)} ${num(horizon + 10)}Z`,
          sand,
        ),
    },
  ];
}
