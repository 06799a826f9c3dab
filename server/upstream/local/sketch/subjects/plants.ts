/** What grows: trees of several kinds, cactus, flowers, mushroom, pumpkin. */
import { tone } from "../colour.ts";
import { blob, circle, ellipse, group, path, stroke } from "../svg.ts";
import { type Brush, type Subject, shadow, sway } from "./subject.ts";

const crown = (b: Brush, spots: readonly (readonly [number, number, number])[]): string => {
  const random = b.random.fork("crown");
  return (
    spots
      .map(([x, y, r]) =>
        path(blob(random, x + r * 0.1, y + r * 0.16, r * 1.04, r, 0.1, 8), b.dark),
      )
      .join("") +
    spots
      .map(([x, y, r]) => path(blob(random, x, y, r * 0.92, r * 0.88, 0.1, 8), b.main))
      .join("") +
    spots
      .map(([x, y, r]) =>
        path(blob(random, x - r * 0.25, y - r * 0.3, r * 0.5, r * 0.42, 0.16, 7), b.light, {
          "fill-opacity": 0.65,
        }),
      )
      .join("")
  );
};

const tree: Subject = {
  stands: "ground",
  tall: 430,
  wide: 0.85,
  colours: [
    ["#5d9a52", "#7a5038"],
    ["#7fae4f", "#6b4636"],
    ["#4c8a5e", "#73503c"],
  ],
  draw: (b) => {
    const bark = b.sheet.linear(
      [
        [0, tone(b.accent, 0.06)],
        [1, shadow(b.accent, 0.1)],
      ],
      [0, 0, 1, 0],
    );
    return [
      path("M-5 -50C-4 -30 -5 -10 -12 0Q0 -4 12 0C6 -10 5 -30 6 -50Z", bark),
      stroke("M0 -40L-14 -58M2 -44L16 -60", b.accent, 4),
      group(
        { transform: `rotate(${sway(b.phase) * 1} 0 0)` },
        crown(b, [
          [-20, -52, 17],
          [20, -52, 17],
          [0, -50, 18],
          [-25, -68, 16],
          [25, -68, 16],
          [-11, -83, 17],
          [12, -83, 16],
          [0, -68, 20],
        ]),
      ),
    ].join("");
  },
};

const blossomTree: Subject = {
  stands: "ground",
  tall: 420,
  wide: 1.05,
  colours: [["#f4b6c8", "#5f4240"]],
  draw: (b) => {
    const random = b.random.fork("petals");
    const petal = (x: number, y: number): string =>
      ellipse(x, y, 1.6, 1, b.light, { transform: `rotate(${random.whole(0, 90)} ${x} ${y})` });
    const petals = Array.from({ length: Math.round(14 * b.detail) }, () =>
      petal(random.between(-46, 46), random.between(-40, -1)),
    );
    return [
      path("M-5 -40C-2 -24 -8 -10 -14 0Q0 -4 12 0C4 -12 4 -26 6 -40Z", b.accent),
      stroke("M0 -36C-6 -50 -22 -52 -30 -62M2 -38C10 -52 24 -52 32 -64M0 -40L2 -66", b.accent, 4.4),
      crown(b, [
        [-34, -62, 14],
        [34, -62, 14],
        [-16, -60, 15],
        [16, -60, 15],
        [-26, -78, 15],
        [25, -78, 15],
        [-4, -84, 16],
        [10, -72, 15],
        [0, -68, 15],
      ]),
      ...petals,
    ].join("");
  },
};

const pine: Subject = {
  stands: "ground",
  tall: 440,
  wide: 0.55,
  colours: [
    ["#3f7a5a", "#6b4636"],
    ["#4d8560", "#6b4636"],
  ],
  draw: (b) => {
    const tier = (top: number, bottom: number, half: number, fill: string): string =>
      path(
        `M0 ${top}L${half} ${bottom}Q${half * 0.7} ${bottom + 1} ${half * 0.56} ${bottom - 3}Q${half * 0.35} ${bottom + 4} ${half * 0.1} ${bottom - 1}Q${-half * 0.2} ${bottom + 4} ${-half * 0.46} ${bottom - 2}Q${-half * 0.7} ${bottom + 2} ${-half} ${bottom}Z`,
        fill,
      );
    const lit = b.sheet.linear(
      [
        [0, b.light],
        [0.5, b.main],
        [1, b.dark],
      ],
      [0, 0, 1, 0],
    );
    return [
      path("M-3.500 -14L-5 0H5L3.500 -14Z", b.accent),
      tier(-58, -10, 27, b.deep),
      tier(-61, -13, 26, lit),
      tier(-76, -32, 22, b.deep),
      tier(-78, -35, 21, lit),
      tier(-90, -54, 16, b.deep),
      tier(-92, -57, 15, lit),
      tier(-100, -74, 10, lit),
    ].join("");
  },
};

const palm: Subject = {
  stands: "ground",
  tall: 460,
  wide: 0.8,
  colours: [["#4f9a5a", "#9a7350"]],
  draw: (b) => {
    const swing = sway(b.phase) * 2.5;
    const leaf = (angle: number, size: number, fill: string): string =>
      path(
        "M0 0C12 -14 32 -14 44 2C38 0 34 1 31 3C28 0 24 0 21 2C18 -1 14 -1 11 1C8 -1 4 0 0 0Z",
        fill,
        { transform: `translate(8 -80) rotate(${angle + swing}) scale(${size})` },
      );
    return [
      path("M-10 0C-4 -26 -2 -54 5 -80H11C7 -54 4 -26 3 0Z", b.accent),
      stroke(
        "M-7 -12q5 2 9 0M-5 -24q4 2 9 0M-3 -36q4 2 8 0M-1 -48q4 2 7 0M2 -60q3 2 6 0M4 -70q3 1 5 0",
        shadow(b.accent, 0.12),
        1.2,
      ),
      leaf(200, 0.86, b.deep),
      leaf(-30, 0.8, b.deep),
      leaf(158, 0.9, b.dark),
      leaf(20, 0.92, b.dark),
      leaf(-62, 0.74, b.main),
      leaf(232, 0.8, b.main),
      leaf(182, 1, b.main),
      leaf(-4, 1, b.light),
      leaf(-100, 0.55, b.light),
      circle(5, -77, 3.4, b.lit("#6e4a30")),
      circle(11, -76, 3.4, b.lit("#7f5636")),
      circle(8, -73, 3.2, b.lit("#5f3f2a")),
    ].join("");
  },
};

const cactus: Subject = {
  stands: "ground",
  tall: 340,
  wide: 0.75,
  colours: [["#5c9a6a", "#f28fa4"]],
  draw: (b) => {
    const ribs = "M-4 -90V-4M4 -90V-4M-27 -60V-46M27 -72V-52";
    return [
      stroke("M-27 -62V-44Q-27 -34 -12 -34M27 -74V-54Q27 -44 10 -44", b.main, 13),
      path("M-12 0V-88Q-12 -100 0 -100Q12 -100 12 -88V0Z", b.body),
      stroke(ribs, b.dark, 1.6),
      stroke(
        "M-8 -80l-4 -2M8 -70l4 -2M-8 -54l-4 -2M8 -30l4 -2M-8 -22l-4 -2M0 -64l3 -3M0 -40l3 -3M0 -16l3 -3",
        b.lit("#f4ecd2"),
        1,
      ),
      ...[
        [0, -100],
        [-27, -68],
        [27, -80],
      ].map(
        ([x = 0, y = 0]) =>
          circle(x - 3, y, 3.4, b.accent) +
          circle(x + 3, y, 3.4, b.accent) +
          circle(x, y - 3, 3.6, tone(b.accent, 0.06)) +
          circle(x, y - 0.5, 1.8, b.lit("#f7d26a")),
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

const stem = (b: Brush, bend = 0): string =>
  stroke(`M0 0Q${bend} -34 0 -66`, b.lit("#4f8a4a"), 3.6) +
  path("M1 -22C14 -40 28 -38 32 -34C26 -22 12 -16 1 -22Z", b.lit("#5f9f55")) +
  path("M-1 -12C-14 -30 -28 -28 -31 -24C-26 -12 -12 -6 -1 -12Z", b.lit("#4c8a4c"));

const flower: Subject = {
  stands: "ground",
  tall: 300,
  wide: 0.75,
  colours: [
    ["#f08aa8", "#f7cf5a"],
    ["#f6f1e6", "#f2b63c"],
    ["#9a86e0", "#f6dc7a"],
    ["#f2a24a", "#8a4a2c"],
  ],
  draw: (b) =>
    group(
      { transform: `rotate(${sway(b.phase) * 2.5})` },
      stem(b, 5),
      petalRing(0, -72, 8, 26, 8.4, b.dark, 22),
      petalRing(0, -72, 8, 27, 7.8, b.main),
      petalRing(0, -72, 8, 16, 3, b.light, 0),
      circle(0, -72, 8.4, b.accent),
      circle(-2, -74, 3.4, tone(b.accent, 0.1), { "fill-opacity": 0.7 }),
    ),
};

const sunflower: Subject = {
  stands: "ground",
  tall: 400,
  wide: 0.62,
  colours: [["#f5bb32", "#6b4226"]],
  draw: (b) => {
    const seeds = Array.from({ length: 40 }, (_, i) =>
      circle(
        Math.cos(i * 2.4) * 1.55 * Math.sqrt(i),
        -74 + Math.sin(i * 2.4) * 1.55 * Math.sqrt(i),
        0.8,
        tone(b.accent, 0.12),
      ),
    );
    return group(
      { transform: `rotate(${sway(b.phase) * 2})` },
      stem(b, -4),
      petalRing(0, -74, 16, 27, 4.6, b.dark, 11),
      petalRing(0, -74, 16, 26, 4.6, b.main),
      circle(0, -74, 11.6, b.accent),
      ...seeds,
    );
  },
};

const tulip: Subject = {
  stands: "ground",
  tall: 280,
  wide: 0.6,
  colours: [
    ["#e2526a", "#f6a0a8"],
    ["#f2b63c", "#f9dd8a"],
    ["#b678cf", "#e0b8ec"],
  ],
  draw: (b) =>
    group(
      { transform: `rotate(${sway(b.phase) * 2.5})` },
      stroke("M0 0Q3 -30 0 -62", b.lit("#4f8a4a"), 3.6),
      path("M0 0C-22 -16 -22 -40 -16 -58C-8 -40 -2 -20 0 0Z", b.lit("#5f9f55")),
      path("M0 0C20 -12 24 -32 20 -46C10 -34 4 -18 0 0Z", b.lit("#4c8a4c")),
      path(
        "M-18 -88C-20 -66 -10 -58 0 -58C10 -58 20 -66 18 -88Q10 -84 8 -74Q4 -94 0 -100Q-4 -94 -8 -74Q-10 -84 -18 -88Z",
        b.dark,
      ),
      path("M0 -100C-10 -88 -11 -66 0 -58C11 -66 10 -88 0 -100Z", b.body),
      path("M-18 -88C-20 -66 -10 -58 0 -58C-8 -66 -12 -78 -18 -88Z", b.main),
    ),
};

const mushroom: Subject = {
  stands: "ground",
  tall: 240,
  wide: 0.95,
  colours: [
    ["#d9483f", "#fff4e2"],
    ["#b9805a", "#f4e2c8"],
  ],
  draw: (b) =>
    [
      path(
        "M-13 -50C-12 -30 -16 -12 -18 0Q0 5 18 0C16 -12 12 -30 13 -50Z",
        b.sheet.linear(
          [
            [0, b.accent],
            [1, shadow(b.accent, 0.08)],
          ],
          [0, 0, 1, 0],
        ),
      ),
      path(
        "M-40 -46Q0 -34 40 -46Q24 -38 14 -38Q0 -30 -14 -38Q-24 -38 -40 -46Z",
        shadow(b.accent, 0.12),
      ),
      path("M-46 -48C-46 -84 -22 -100 0 -100C22 -100 46 -84 46 -48Q0 -36 -46 -48Z", b.body),
      ellipse(-20, -70, 8, 6.6, b.accent),
      ellipse(8, -84, 7, 5, b.accent),
      ellipse(24, -62, 7, 6, b.accent),
      ellipse(-2, -58, 5.6, 4.4, b.accent),
      ellipse(-34, -54, 4, 3.6, b.accent),
      ellipse(-12, -91, 4, 2.6, b.accent),
    ].join(""),
};

const pumpkin: Subject = {
  stands: "ground",
  tall: 200,
  wide: 1.2,
  colours: [["#ea8a34", "#5f7f3f"]],
  draw: (b) =>
    [
      path("M-4 -78C-6 -92 4 -100 14 -98C8 -92 8 -84 8 -76Z", b.accent),
      ellipse(-36, -38, 24, 36, b.dark),
      ellipse(36, -38, 24, 36, b.deep),
      ellipse(-20, -40, 26, 40, b.main),
      ellipse(20, -40, 26, 40, b.dark),
      ellipse(0, -40, 22, 41, b.body),
      ellipse(-8, -58, 6, 14, b.light, { "fill-opacity": 0.6 }),
      stroke("M10 -80Q30 -96 40 -84Q46 -76 38 -74", b.accent, 2),
    ].join(""),
};

export const plants = {
  tree,
  blossomTree,
  pine,
  palm,
  cactus,
  flower,
  sunflower,
  tulip,
  mushroom,
  pumpkin,
} as const;
