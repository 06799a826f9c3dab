/** City skyline in three rows with lit windows, village on a hill, street. */
import { type Color, mix, tone } from "../color.ts";
import type { Random } from "../random.ts";
import { atDistance, lit } from "../scene/palette.ts";
import { type Layer, type Stage, scaledCount } from "../scene/stage.ts";
import { circle, num, path, rect, stroke } from "../svg.ts";
import { heightAt, leafy, rolling, treesAlong, under } from "./terrain.ts";

export function city(stage: Stage, color: Color = "#57648c"): Layer[] {
  const { width, horizon, height, palette } = stage;
  const ranks = 3;
  return Array.from({ length: ranks }, (_, i) => {
    const t = i / (ranks - 1);
    const random = stage.random.fork(`rank ${i}`);
    const shade = atDistance(palette, color, 0.24 + t * 0.42);
    return {
      name: `skyline ${i}`,
      svg: skyline(
        stage,
        random,
        shade,
        Math.min(horizon * 0.62, height * 0.4) * (1 - t * 0.42),
        44 + t * 22,
        t,
      ),
    };
  }).concat([
    {
      name: "street haze",
      svg: rect(
        0,
        horizon - 60,
        width,
        70,
        stage.defs.vertical(
          [
            [0, palette.haze, 0],
            [1, palette.haze, 0.55],
          ],
          horizon - 60,
          horizon + 10,
        ),
      ),
    },
  ]);
}

function skyline(
  stage: Stage,
  random: Random,
  shade: Color,
  tall: number,
  broad: number,
  nearness: number,
): string {
  const { width, horizon, palette, defs } = stage;
  let outline = "";
  let sides = "";
  const panes: [string, string] = ["", ""];
  for (let x = -20; x < width + 20; ) {
    const w = broad * random.between(0.7, 1.6);
    const swell = 0.55 + 0.45 * Math.sin((x / width) * Math.PI * 1.1 + 0.2);
    const top = horizon - tall * random.between(0.3, 1) * swell;
    outline += tower(random, x, top, w, horizon + 12);
    sides += `M${num(x + w * 0.72)} ${num(top)}H${num(x + w)}V${num(horizon + 12)}H${num(x + w * 0.72)}Z`;
    if (stage.detail >= 0.5) {
      const [step, drop] = [11 + nearness * 3, 15 + nearness * 3];
      for (let wx = x + 7; wx < x + w - 8; wx += step) {
        for (let wy = top + 10; wy < horizon - 14; wy += drop) {
          const glow = random.next();
          if (glow < 0.42) panes[0] += `M${num(wx)} ${num(wy)}h5v7h-5Z`;
          else if (glow < 0.72) panes[1] += `M${num(wx)} ${num(wy)}h5v7h-5Z`;
        }
      }
    }
    x += w * random.between(0.82, 1.1);
  }
  const dark = palette.dim > 0.25;
  return (
    path(
      outline,
      defs.vertical(
        [
          [0, shade],
          [1, mix(shade, palette.haze, 0.5)],
        ],
        horizon - tall,
        horizon,
      ),
    ) +
    path(sides, tone(shade, -0.07), { "fill-opacity": 0.45 }) +
    path(panes[0], dark ? "#ffd98a" : mix(palette.haze, "#ffffff", 0.4), {
      "fill-opacity": dark ? 0.85 : 0.38,
    }) +
    path(panes[1], dark ? mix(shade, "#ffb870", 0.45) : tone(shade, -0.08), { "fill-opacity": 0.5 })
  );
}

function tower(random: Random, x: number, top: number, w: number, base: number): string {
  const body = `M${num(x)} ${num(base)}V${num(top)}H${num(x + w)}V${num(base)}Z`;
  const middle = x + w / 2;
  const style = random.integer(0, 6);
  if (style === 0)
    return `${body}M${num(middle - 1.5)} ${num(top)}V${num(top - w * 0.9)}h3V${num(top)}Z`;
  if (style === 1)
    return `${body}M${num(x)} ${num(top)}L${num(middle)} ${num(top - w * 0.55)}L${num(x + w)} ${num(top)}Z`;
  if (style === 2)
    return `${body}M${num(x + w * 0.2)} ${num(top)}V${num(top - w * 0.3)}H${num(x + w * 0.8)}V${num(top)}ZM${num(x + w * 0.38)} ${num(top - w * 0.3)}V${num(top - w * 0.55)}H${num(x + w * 0.62)}V${num(top - w * 0.3)}Z`;
  if (style === 3)
    return `${body}M${num(x)} ${num(top)}A${num(w / 2)} ${num(w * 0.42)} 0 0 1 ${num(x + w)} ${num(top)}Z`;
  if (style === 4)
    return `${body}M${num(x)} ${num(top)}L${num(x + w)} ${num(top - w * 0.5)}V${num(top)}Z`;
  return body;
}

export function village(stage: Stage, color: Color = "#e6d3b8"): Layer[] {
  const { width, horizon, palette, defs } = stage;
  const random = stage.random.fork("village");
  const hill = rolling(random, width, horizon - 46, 46, 1.6 * (width / 1000));
  const green = atDistance(palette, "#6f9a58", 0.62);
  const trees = treesAlong(random.fork("trees"), hill, width, scaledCount(stage, 46), 46, leafy);
  const houses = Array.from(
    { length: Math.round(scaledCount(stage, 13) * (width / 1000)) + 3 },
    () => {
      const x = random.between(0.04, 0.96) * width;
      const size = random.between(22, 36);
      return { x, size, y: heightAt(hill, x) + random.between(6, 44) };
    },
  ).sort((a, b) => a.y - b.y);
  const drawn = houses.map(({ x, y, size }) => {
    const wall = atDistance(
      palette,
      mix(color, random.pick(["#f3e6d2", "#e2b890", "#d9d2c8"]), 0.6),
      0.8,
    );
    const roof = atDistance(
      palette,
      random.pick(["#b5533f", "#8a4a48", "#a8684a", "#6d5a6a"]),
      0.8,
    );
    const window = palette.dim > 0.25 ? "#ffd36e" : atDistance(palette, "#5d7a90", 0.8);
    return (
      rect(x - size, y - size * 0.9, size * 2, size * 0.95, wall) +
      rect(x + size * 0.5, y - size * 0.9, size * 0.5, size * 0.95, tone(wall, -0.08)) +
      path(
        `M${num(x - size * 1.2)} ${num(y - size * 0.85)}L${num(x - size * 0.8)} ${num(y - size * 1.6)}H${num(x + size * 0.8)}L${num(x + size * 1.2)} ${num(y - size * 0.85)}Z`,
        roof,
      ) +
      rect(x - size * 0.6, y - size * 0.6, size * 0.32, size * 0.36, window) +
      rect(x + size * 0.1, y - size * 0.6, size * 0.32, size * 0.36, window)
    );
  });
  return [
    {
      name: "village",
      svg:
        path(trees, mix(green, atDistance(palette, "#2f5a4a", 0.6), 0.5)) +
        path(
          under(hill, horizon + 70),
          defs.vertical(
            [
              [0, tone(green, 0.03)],
              [1, mix(green, palette.haze, 0.25)],
            ],
            horizon - 90,
            horizon + 40,
          ),
        ) +
        drawn.join(""),
    },
  ];
}

export function street(stage: Stage, color: Color = "#6d6a78"): Layer[] {
  const { width, height, horizon, palette, defs } = stage;
  const road = lit(palette, color);
  const kerb = lit(palette, "#b9b2ac");
  const random = stage.random.fork("street");
  const vanish = width * 0.5;
  const dashes = Array.from({ length: 8 }, (_, i) => {
    const [a, b] = [((i + 0.2) / 8) ** 1.9, ((i + 0.66) / 8) ** 1.9];
    const y = (t: number): number => horizon + 12 + t * (height - horizon);
    return `M${num(vanish - 1 - a * 9)} ${num(y(a))}H${num(vanish + 1 + a * 9)}L${num(vanish + 1 + b * 9)} ${num(y(b))}H${num(vanish - 1 - b * 9)}Z`;
  });
  const puddles =
    palette.dim > 0.1
      ? Array.from({ length: scaledCount(stage, 16) }, () => {
          const t = random.next();
          return `M${num(random.between(0.1, 0.9) * width)} ${num(horizon + 30 + t * (height - horizon))}h${num(20 + t * 90)}`;
        }).join("")
      : "";
  const lamps = [0.08, 0.2, 0.8, 0.92].map((share) => {
    const near = Math.abs(share - 0.5) * 2;
    const [x, y, tall] = [width * share, horizon + 20 + near ** 2 * 150, 110 + near ** 2 * 190];
    const glow =
      palette.dim > 0.2
        ? circle(
            x,
            y - tall,
            70,
            defs.radial([
              [0, "#ffe2a0", 0.7],
              [1, "#ffd98a", 0],
            ]),
          )
        : "";
    return (
      glow +
      stroke(`M${num(x)} ${num(y)}V${num(y - tall)}`, lit(palette, "#33343f"), 6) +
      circle(x, y - tall, 13, palette.dim > 0.2 ? "#fff3c8" : lit(palette, "#e9e4d8")) +
      rect(x - 15, y - tall - 17, 30, 6, lit(palette, "#33343f"), { rx: 3 })
    );
  });
  return [
    {
      name: "street",
      svg:
        rect(
          0,
          horizon,
          width,
          height - horizon,
          defs.vertical(
            [
              [0, mix(kerb, palette.haze, 0.4)],
              [1, kerb],
            ],
            horizon,
            height,
          ),
        ) +
        path(
          `M${num(vanish - width * 0.04)} ${num(horizon)}H${num(vanish + width * 0.04)}L${num(width * 1.02)} ${num(height)}H${num(-width * 0.02)}Z`,
          defs.vertical(
            [
              [0, mix(road, palette.haze, 0.45)],
              [0.4, road],
              [1, tone(road, -0.1)],
            ],
            horizon,
            height,
          ),
        ) +
        path(dashes.join(""), lit(palette, "#f4ead0"), { "fill-opacity": 0.8 }) +
        (puddles ? stroke(puddles, palette.glow, 5, { "stroke-opacity": 0.22 }) : ""),
    },
    { name: "lamps", svg: lamps.join("") },
  ];
}
