/** The neon grid of the synthwave style. */
import type { Color } from "../color.ts";
import { type Layer, type Stage, scaledCount } from "../scene/stage.ts";
import { circle, group, num, path, rect, stroke } from "../svg.ts";

/** Synthwave: a striped sun over a glowing grid. */
export function neonGrid(
  stage: Stage,
  colors: readonly [Color, Color] = ["#ff3fa4", "#2de2ff"],
): Layer[] {
  const { width, height, horizon, defs, phase } = stage;
  const [pink, cyan] = colors;
  const [x, y, r] = [width / 2, horizon - 120, 210];
  const random = stage.random.fork("grid");
  const bars = Array.from({ length: 7 }, (_, i) =>
    rect(x - r, y + 6 + i * 30, r * 2, 4 + i * 3, "#2a0a4a"),
  );
  const verticals = Array.from(
    { length: 25 },
    (_, i) =>
      `M${num(x + (i - 12) * 26)} ${num(horizon)}L${num(x + (i - 12) * 240)} ${num(height)}`,
  ).join("");
  const levels = Array.from(
    { length: 13 },
    (_, i) => `M0 ${num(horizon + ((i + phase) / 13) ** 2.2 * (height - horizon))}H${num(width)}`,
  ).join("");
  const ridge = (step: number, tall: number, seed: string): string => {
    const inner = random.fork(seed);
    let d = `M-20 ${num(horizon + 2)}`;
    for (let px = -20; px <= width + 20; px += step) {
      const edge = Math.abs(px - x) / (width / 2);
      d += `L${num(px)} ${num(horizon - (edge > 0.34 ? tall * (edge - 0.24) * inner.between(0.3, 1.2) : 0))}`;
    }
    return `${d}L${num(width + 20)} ${num(horizon + 2)}Z`;
  };
  let dots = "";
  for (let i = 0; i < scaledCount(stage, 120); i++)
    dots += `M${num(random.between(0, width))} ${num(random.between(0, horizon * 0.7))}h1.6`;
  return [
    {
      name: "sky",
      atmospheric: true,
      svg:
        rect(
          0,
          0,
          width,
          height,
          defs.vertical(
            [
              [0, "#0b0326"],
              [0.5, "#2a0a4a"],
              [0.85, "#7a1a6a"],
              [1, "#d83a8a"],
            ],
            0,
            horizon,
          ),
        ) + stroke(dots, "#ffe6ff", 2.2, { "stroke-opacity": 0.7 }),
    },
    {
      name: "sun",
      atmospheric: true,
      svg:
        circle(
          x,
          y,
          r * 1.9,
          defs.radial([
            [0.3, pink, 0.5],
            [1, pink, 0],
          ]),
        ) +
        circle(
          x,
          y,
          r,
          defs.linear([
            [0, "#ffe45e"],
            [0.55, "#ff8a3c"],
            [1, pink],
          ]),
        ) +
        group({ "clip-path": defs.clip(circle(x, y, r, "#000000")) }, ...bars),
    },
    {
      name: "ridges",
      svg:
        path(ridge(46, 260, "far"), "#2b0d52", {
          stroke: cyan,
          "stroke-width": 2.4,
          "stroke-opacity": 0.75,
        }) +
        path(ridge(64, 170, "near"), "#180735", {
          stroke: pink,
          "stroke-width": 2.4,
          "stroke-opacity": 0.9,
        }),
    },
    {
      name: "grid",
      svg:
        rect(
          0,
          horizon,
          width,
          height - horizon,
          defs.vertical(
            [
              [0, "#4a0f5e"],
              [0.3, "#1c0638"],
              [1, "#0c0220"],
            ],
            horizon,
            height,
          ),
        ) +
        stroke(verticals + levels, cyan, 2, { "stroke-opacity": 0.75 }) +
        rect(0, horizon - 2, width, 4, "#ffd0f4"),
    },
  ];
}
