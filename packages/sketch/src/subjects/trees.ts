/** Trees: broad-leaved, blossoming, pine, palm. */
import { tone } from "../color.ts";
import { blob, circle, ellipse, group, path, stroke } from "../svg.ts";
import { type Brush, type Subject, shadow, sway } from "./subject.ts";

const crown = (brush: Brush, spots: readonly (readonly [number, number, number])[]): string => {
  const random = brush.random.fork("crown");
  return (
    spots
      .map(([x, y, r]) =>
        path(blob(random, x + r * 0.1, y + r * 0.16, r * 1.04, r, 0.1, 8), brush.dark),
      )
      .join("") +
    spots
      .map(([x, y, r]) => path(blob(random, x, y, r * 0.92, r * 0.88, 0.1, 8), brush.main))
      .join("") +
    spots
      .map(([x, y, r]) =>
        path(blob(random, x - r * 0.25, y - r * 0.3, r * 0.5, r * 0.42, 0.16, 7), brush.light, {
          "fill-opacity": 0.65,
        }),
      )
      .join("")
  );
};

const tree: Subject = {
  stands: "ground",
  tall: 430,
  aspect: 0.85,
  colors: [
    ["#5d9a52", "#7a5038"],
    ["#7fae4f", "#6b4636"],
    ["#4c8a5e", "#73503c"],
  ],
  draw: (brush) => {
    const bark = brush.defs.linear(
      [
        [0, tone(brush.accent, 0.06)],
        [1, shadow(brush.accent, 0.1)],
      ],
      [0, 0, 1, 0],
    );
    return [
      path("M-5 -50C-4 -30 -5 -10 -12 0Q0 -4 12 0C6 -10 5 -30 6 -50Z", bark),
      stroke("M0 -40L-14 -58M2 -44L16 -60", brush.accent, 4),
      group(
        { transform: `rotate(${sway(brush.phase) * 1} 0 0)` },
        crown(brush, [
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
  aspect: 1.05,
  colors: [["#f4b6c8", "#5f4240"]],
  draw: (brush) => {
    const random = brush.random.fork("petals");
    const petal = (x: number, y: number): string =>
      ellipse(x, y, 1.6, 1, brush.light, {
        transform: `rotate(${random.integer(0, 90)} ${x} ${y})`,
      });
    const petals = Array.from({ length: Math.round(14 * brush.detail) }, () =>
      petal(random.between(-46, 46), random.between(-40, -1)),
    );
    return [
      path("M-5 -40C-2 -24 -8 -10 -14 0Q0 -4 12 0C4 -12 4 -26 6 -40Z", brush.accent),
      stroke(
        "M0 -36C-6 -50 -22 -52 -30 -62M2 -38C10 -52 24 -52 32 -64M0 -40L2 -66",
        brush.accent,
        4.4,
      ),
      crown(brush, [
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
  aspect: 0.55,
  colors: [
    ["#3f7a5a", "#6b4636"],
    ["#4d8560", "#6b4636"],
  ],
  draw: (brush) => {
    const tier = (top: number, bottom: number, half: number, fill: string): string =>
      path(
        `M0 ${top}L${half} ${bottom}Q${half * 0.7} ${bottom + 1} ${half * 0.56} ${bottom - 3}Q${half * 0.35} ${bottom + 4} ${half * 0.1} ${bottom - 1}Q${-half * 0.2} ${bottom + 4} ${-half * 0.46} ${bottom - 2}Q${-half * 0.7} ${bottom + 2} ${-half} ${bottom}Z`,
        fill,
      );
    const lit = brush.defs.linear(
      [
        [0, brush.light],
        [0.5, brush.main],
        [1, brush.dark],
      ],
      [0, 0, 1, 0],
    );
    return [
      path("M-3.500 -14L-5 0H5L3.500 -14Z", brush.accent),
      tier(-58, -10, 27, brush.deep),
      tier(-61, -13, 26, lit),
      tier(-76, -32, 22, brush.deep),
      tier(-78, -35, 21, lit),
      tier(-90, -54, 16, brush.deep),
      tier(-92, -57, 15, lit),
      tier(-100, -74, 10, lit),
    ].join("");
  },
};

const palm: Subject = {
  stands: "ground",
  tall: 460,
  aspect: 0.8,
  colors: [["#4f9a5a", "#9a7350"]],
  draw: (brush) => {
    const swing = sway(brush.phase) * 2.5;
    const leaf = (angle: number, size: number, fill: string): string =>
      path(
        "M0 0C12 -14 32 -14 44 2C38 0 34 1 31 3C28 0 24 0 21 2C18 -1 14 -1 11 1C8 -1 4 0 0 0Z",
        fill,
        { transform: `translate(8 -80) rotate(${angle + swing}) scale(${size})` },
      );
    return [
      path("M-10 0C-4 -26 -2 -54 5 -80H11C7 -54 4 -26 3 0Z", brush.accent),
      stroke(
        "M-7 -12q5 2 9 0M-5 -24q4 2 9 0M-3 -36q4 2 8 0M-1 -48q4 2 7 0M2 -60q3 2 6 0M4 -70q3 1 5 0",
        shadow(brush.accent, 0.12),
        1.2,
      ),
      leaf(200, 0.86, brush.deep),
      leaf(-30, 0.8, brush.deep),
      leaf(158, 0.9, brush.dark),
      leaf(20, 0.92, brush.dark),
      leaf(-62, 0.74, brush.main),
      leaf(232, 0.8, brush.main),
      leaf(182, 1, brush.main),
      leaf(-4, 1, brush.light),
      leaf(-100, 0.55, brush.light),
      circle(5, -77, 3.4, brush.lit("#6e4a30")),
      circle(11, -76, 3.4, brush.lit("#7f5636")),
      circle(8, -73, 3.2, brush.lit("#5f3f2a")),
    ].join("");
  },
};

export const trees = { tree, blossomTree, pine, palm } as const;
