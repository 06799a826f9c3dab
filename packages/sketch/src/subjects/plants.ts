/** Small plants: cactus, three kinds of flowers, mushroom, pumpkin. */
import { tone } from "../color.ts";
import { circle, ellipse, group, path, stroke } from "../svg.ts";
import { type Brush, type Subject, shadow, sway } from "./subject.ts";

const cactus: Subject = {
  stands: "ground",
  tall: 340,
  aspect: 0.75,
  colors: [["#5c9a6a", "#f28fa4"]],
  draw: (brush) => {
    const ribs = "M-4 -90V-4M4 -90V-4M-27 -60V-46M27 -72V-52";
    return [
      stroke("M-27 -62V-44Q-27 -34 -12 -34M27 -74V-54Q27 -44 10 -44", brush.main, 13),
      path("M-12 0V-88Q-12 -100 0 -100Q12 -100 12 -88V0Z", brush.body),
      stroke(ribs, brush.dark, 1.6),
      stroke(
        "M-8 -80l-4 -2M8 -70l4 -2M-8 -54l-4 -2M8 -30l4 -2M-8 -22l-4 -2M0 -64l3 -3M0 -40l3 -3M0 -16l3 -3",
        brush.lit("#f4ecd2"),
        1,
      ),
      ...[
        [0, -100],
        [-27, -68],
        [27, -80],
      ].map(
        ([x = 0, y = 0]) =>
          circle(x - 3, y, 3.4, brush.accent) +
          circle(x + 3, y, 3.4, brush.accent) +
          circle(x, y - 3, 3.6, tone(brush.accent, 0.06)) +
          circle(x, y - 0.5, 1.8, brush.lit("#f7d26a")),
      ),
    ].join("");
  },
};

const petalRing = (
  x: number,
  y: number,
  count: number,
  reach: number,
  width: number,
  fill: string,
  turn = 0,
): string =>
  Array.from({ length: count }, (_, i) =>
    ellipse(x, y - reach * 0.62, width, reach * 0.5, fill, {
      transform: `rotate(${(i / count) * 360 + turn} ${x} ${y})`,
    }),
  ).join("");

const stem = (brush: Brush, bend = 0): string =>
  stroke(`M0 0Q${bend} -34 0 -66`, brush.lit("#4f8a4a"), 3.6) +
  path("M1 -22C14 -40 28 -38 32 -34C26 -22 12 -16 1 -22Z", brush.lit("#5f9f55")) +
  path("M-1 -12C-14 -30 -28 -28 -31 -24C-26 -12 -12 -6 -1 -12Z", brush.lit("#4c8a4c"));

const flower: Subject = {
  stands: "ground",
  tall: 300,
  aspect: 0.75,
  colors: [
    ["#f08aa8", "#f7cf5a"],
    ["#f6f1e6", "#f2b63c"],
    ["#9a86e0", "#f6dc7a"],
    ["#f2a24a", "#8a4a2c"],
  ],
  draw: (brush) =>
    group(
      { transform: `rotate(${sway(brush.phase) * 2.5})` },
      stem(brush, 5),
      petalRing(0, -72, 8, 26, 8.4, brush.dark, 22),
      petalRing(0, -72, 8, 27, 7.8, brush.main),
      petalRing(0, -72, 8, 16, 3, brush.light, 0),
      circle(0, -72, 8.4, brush.accent),
      circle(-2, -74, 3.4, tone(brush.accent, 0.1), { "fill-opacity": 0.7 }),
    ),
};

const sunflower: Subject = {
  stands: "ground",
  tall: 400,
  aspect: 0.62,
  colors: [["#f5bb32", "#6b4226"]],
  draw: (brush) => {
    const seeds = Array.from({ length: 40 }, (_, i) =>
      circle(
        Math.cos(i * 2.4) * 1.55 * Math.sqrt(i),
        -74 + Math.sin(i * 2.4) * 1.55 * Math.sqrt(i),
        0.8,
        tone(brush.accent, 0.12),
      ),
    );
    return group(
      { transform: `rotate(${sway(brush.phase) * 2})` },
      stem(brush, -4),
      petalRing(0, -74, 16, 27, 4.6, brush.dark, 11),
      petalRing(0, -74, 16, 26, 4.6, brush.main),
      circle(0, -74, 11.6, brush.accent),
      ...seeds,
    );
  },
};

const tulip: Subject = {
  stands: "ground",
  tall: 280,
  aspect: 0.6,
  colors: [
    ["#e2526a", "#f6a0a8"],
    ["#f2b63c", "#f9dd8a"],
    ["#b678cf", "#e0b8ec"],
  ],
  draw: (brush) =>
    group(
      { transform: `rotate(${sway(brush.phase) * 2.5})` },
      stroke("M0 0Q3 -30 0 -62", brush.lit("#4f8a4a"), 3.6),
      path("M0 0C-22 -16 -22 -40 -16 -58C-8 -40 -2 -20 0 0Z", brush.lit("#5f9f55")),
      path("M0 0C20 -12 24 -32 20 -46C10 -34 4 -18 0 0Z", brush.lit("#4c8a4c")),
      path(
        "M-18 -88C-20 -66 -10 -58 0 -58C10 -58 20 -66 18 -88Q10 -84 8 -74Q4 -94 0 -100Q-4 -94 -8 -74Q-10 -84 -18 -88Z",
        brush.dark,
      ),
      path("M0 -100C-10 -88 -11 -66 0 -58C11 -66 10 -88 0 -100Z", brush.body),
      path("M-18 -88C-20 -66 -10 -58 0 -58C-8 -66 -12 -78 -18 -88Z", brush.main),
    ),
};

const mushroom: Subject = {
  stands: "ground",
  tall: 240,
  aspect: 0.95,
  colors: [
    ["#d9483f", "#fff4e2"],
    ["#b9805a", "#f4e2c8"],
  ],
  draw: (brush) =>
    [
      path(
        "M-13 -50C-12 -30 -16 -12 -18 0Q0 5 18 0C16 -12 12 -30 13 -50Z",
        brush.defs.linear(
          [
            [0, brush.accent],
            [1, shadow(brush.accent, 0.08)],
          ],
          [0, 0, 1, 0],
        ),
      ),
      path(
        "M-40 -46Q0 -34 40 -46Q24 -38 14 -38Q0 -30 -14 -38Q-24 -38 -40 -46Z",
        shadow(brush.accent, 0.12),
      ),
      path("M-46 -48C-46 -84 -22 -100 0 -100C22 -100 46 -84 46 -48Q0 -36 -46 -48Z", brush.body),
      ellipse(-20, -70, 8, 6.6, brush.accent),
      ellipse(8, -84, 7, 5, brush.accent),
      ellipse(24, -62, 7, 6, brush.accent),
      ellipse(-2, -58, 5.6, 4.4, brush.accent),
      ellipse(-34, -54, 4, 3.6, brush.accent),
      ellipse(-12, -91, 4, 2.6, brush.accent),
    ].join(""),
};

const pumpkin: Subject = {
  stands: "ground",
  tall: 200,
  aspect: 1.2,
  colors: [["#ea8a34", "#5f7f3f"]],
  draw: (brush) =>
    [
      path("M-4 -78C-6 -92 4 -100 14 -98C8 -92 8 -84 8 -76Z", brush.accent),
      ellipse(-36, -38, 24, 36, brush.dark),
      ellipse(36, -38, 24, 36, brush.deep),
      ellipse(-20, -40, 26, 40, brush.main),
      ellipse(20, -40, 26, 40, brush.dark),
      ellipse(0, -40, 22, 41, brush.body),
      ellipse(-8, -58, 6, 14, brush.light, { "fill-opacity": 0.6 }),
      stroke("M10 -80Q30 -96 40 -84Q46 -76 38 -74", brush.accent, 2),
    ].join(""),
};

export const plants = { cactus, flower, sunflower, tulip, mushroom, pumpkin } as const;
