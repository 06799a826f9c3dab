/** Symbols: heart, star, crystal, planet. */
import { circle, group, type Point, path, polygon } from "../svg.ts";
import { type Subject, sway } from "./subject.ts";

const heart: Subject = {
  stands: "air",
  tall: 300,
  aspect: 1.05,
  colors: [["#e5486a", "#ffd0d8"]],
  draw: (brush) =>
    group(
      { transform: `translate(0 -50) scale(${1 + sway(brush.phase) * 0.04}) translate(0 50)` },
      path(
        "M0 -4C-30 -28 -52 -48 -52 -70C-52 -88 -38 -98 -26 -98C-14 -98 -4 -90 0 -80C4 -90 14 -98 26 -98C38 -98 52 -88 52 -70C52 -48 30 -28 0 -4Z",
        brush.body,
      ),
      path(
        "M-42 -68C-42 -80 -34 -88 -24 -88C-34 -80 -36 -70 -34 -60C-40 -60 -42 -64 -42 -68Z",
        "#ffffff",
        { "fill-opacity": 0.55 },
      ),
    ),
};

const star: Subject = {
  stands: "air",
  tall: 240,
  aspect: 1,
  colors: [["#f7c948", "#fff3c4"]],
  draw: (brush) => {
    const points = (scale: number): Point[] =>
      Array.from({ length: 10 }, (_, i) => {
        const angle = (i * Math.PI) / 5 - Math.PI / 2;
        const reach = (i % 2 ? 22 : 50) * scale;
        return [Math.cos(angle) * reach, -50 + Math.sin(angle) * reach];
      });
    return (
      circle(
        0,
        -50,
        72,
        brush.defs.radial([
          [0, brush.main, 0.4],
          [1, brush.main, 0],
        ]),
      ) +
      path(polygon(points(1)), brush.body, {
        stroke: brush.main,
        "stroke-width": 7,
        "stroke-linejoin": "round",
      }) +
      path(polygon(points(0.5)), brush.accent, {
        "fill-opacity": 0.55,
        stroke: brush.accent,
        "stroke-width": 5,
        "stroke-opacity": 0.4,
        "stroke-linejoin": "round",
      })
    );
  },
};

const crystal: Subject = {
  stands: "ground",
  tall: 300,
  aspect: 0.9,
  colors: [
    ["#8a7be0", "#e0d8ff"],
    ["#5fc3c8", "#dffaf2"],
    ["#e084b8", "#ffe0f0"],
  ],
  draw: (brush) => {
    const shard = (x: number, height: number, width: number, tilt: number): string =>
      group(
        { transform: `rotate(${tilt} ${x} 0)` },
        path(`M${x - width} 0L${x - width} ${-height * 0.78}L${x} ${-height}L${x} 0Z`, brush.light),
        path(`M${x + width} 0L${x + width} ${-height * 0.74}L${x} ${-height}L${x} 0Z`, brush.dark),
        path(
          `M${x - width * 0.4} 0L${x - width * 0.4} ${-height * 0.8}L${x} ${-height}L${x + width * 0.35} ${-height * 0.8}L${x + width * 0.35} 0Z`,
          brush.accent,
          { "fill-opacity": 0.55 },
        ),
      );
    return (
      circle(
        0,
        -46,
        80,
        brush.defs.radial([
          [0, brush.light, 0.4],
          [1, brush.light, 0],
        ]),
      ) +
      shard(-18, 66, 10, -16) +
      shard(20, 70, 10, 15) +
      shard(0, 100, 14, 0) +
      shard(-32, 36, 7, -26) +
      shard(34, 40, 7, 24) +
      shard(10, 44, 8, 8) +
      shard(-9, 38, 7, -6)
    );
  },
};

const planet: Subject = {
  stands: "air",
  tall: 300,
  aspect: 1.5,
  colors: [
    ["#e8a45c", "#f4dcae"],
    ["#6f8fd8", "#d9c4f0"],
    ["#d9738a", "#f7d0b8"],
  ],
  draw: (brush) => {
    const clip = brush.defs.clip(circle(0, -50, 44, "#000000"));
    return group(
      { transform: "rotate(-16 0 -50)" },
      path("M-72 -50A72 17 0 0 1 72 -50L60 -50A60 11 0 0 0 -60 -50Z", brush.accent, {
        "fill-opacity": 0.7,
      }),
      circle(0, -50, 44, brush.body),
      group(
        { "clip-path": clip },
        path(
          "M-50 -74Q0 -66 50 -76V-66Q0 -56 -50 -64ZM-50 -46Q0 -36 50 -48V-40Q0 -28 -50 -38ZM-50 -24Q0 -16 50 -26V-20Q0 -10 -50 -18Z",
          brush.light,
          { "fill-opacity": 0.6 },
        ),
        circle(30, -36, 52, brush.deep, { "fill-opacity": 0 }),
        path("M20 -100C60 -80 60 -20 20 0H60V-100Z", brush.deep, { "fill-opacity": 0.35 }),
      ),
      path("M-72 -50A72 17 0 0 0 72 -50L60 -50A60 11 0 0 1 -60 -50Z", brush.accent),
    );
  },
};

export const symbols = { heart, star, crystal, planet } as const;
