/** Buildings: house, castle, church, pagoda. */
import { tone } from "../color.ts";
import { circle, ellipse, path, rect, stroke } from "../svg.ts";
import { type Brush, type Subject, shadow, sway } from "./subject.ts";

/** Windows are lit at night and reflect the sky by day. */
export const glass = (brush: Brush): string => (brush.night ? "#ffd36e" : brush.lit("#9cc3d6"));

const house: Subject = {
  stands: "ground",
  tall: 330,
  aspect: 1.2,
  colors: [
    ["#f3e3c7", "#c2513f"],
    ["#e9b872", "#7a3f3a"],
    ["#dfe4e2", "#4f6d7a"],
    ["#d98a6a", "#5a4660"],
  ],
  draw: (brush) => {
    const roof = brush.defs.linear(
      [
        [0, tone(brush.accent, 0.06)],
        [1, shadow(brush.accent, 0.1)],
      ],
      [0, 0, 1, 1],
    );
    const pane = (x: number, y: number): string =>
      rect(x - 1.5, y - 1.5, 17, 19, brush.lit("#fff8ea"), { rx: 1 }) +
      rect(x, y, 14, 16, glass(brush)) +
      stroke(`M${x + 7} ${y}v16M${x} ${y + 8}h14`, brush.lit("#fff8ea"), 1.4) +
      rect(x - 2.5, y + 17, 19, 3, brush.lit("#8a5a48"), { rx: 1 }) +
      [0, 4, 8, 12, 15]
        .map((d, i) => circle(x + d - 0.5, y + 16.4, 2.1, brush.lit(i % 2 ? "#e86a7a" : "#f4b84a")))
        .join("");
    const smoke = [0, 1, 2].map((i) =>
      circle(
        27 + i * 6 + sway(brush.phase, i / 3) * 2,
        -99 - i * 9,
        4 + i * 2,
        brush.lit("#f0ece8"),
        {
          "fill-opacity": 0.55 - i * 0.13,
        },
      ),
    );
    return [
      ...smoke,
      rect(21, -92, 11, 30, brush.lit("#a8604c")),
      rect(19.5, -94, 14, 4, brush.lit("#8a4a3c")),
      rect(-44, -52, 88, 52, brush.body),
      rect(-44, -52, 88, 6, brush.deep, { "fill-opacity": 0.22 }),
      path(
        "M-55 -50L-30 -90Q-28 -93 -24 -93H24Q28 -93 30 -90L55 -50Q55 -46 51 -46H-51Q-55 -46 -55 -50Z",
        roof,
      ),
      stroke("M-42 -60H42M-36 -70H36M-30 -80H30", shadow(brush.accent, 0.08), 1),
      path("M-14 -52L0 -74L14 -52Z", brush.light),
      path("M-17 -50L0 -77L17 -50L13.6 -50L0 -71L-13.6 -50Z", brush.accent),
      circle(0, -58, 4.4, glass(brush)),
      pane(-36, -36),
      pane(22, -36),
      path("M-9 0V-26Q-9 -34 0 -34Q9 -34 9 -26V0Z", brush.lit("#7a4b3a")),
      path("M-6.5 0V-25Q-6.5 -31 0 -31Q6.5 -31 6.5 -25V0Z", brush.lit("#96604a")),
      circle(4, -15, 1.3, brush.lit("#f2c65a")),
      path("M-12 0H12L15 4H-15Z", brush.lit("#b8a690")),
      ...[-40, -31, -22, 22, 31, 40].map((x, i) =>
        circle(x, -4, 6.5 + (i % 2), brush.lit(i % 2 ? "#5f9a55" : "#74ad5e")),
      ),
    ].join("");
  },
};

const castle: Subject = {
  stands: "ground",
  tall: 480,
  aspect: 1.1,
  colors: [
    ["#d9cdbd", "#4f6ea0"],
    ["#c9b7c9", "#7a4b8a"],
    ["#b9b2a8", "#a8473f"],
  ],
  draw: (brush) => {
    const wall = brush.defs.linear(
      [
        [0, brush.light],
        [0.6, brush.main],
        [1, brush.dark],
      ],
      [0, 0, 1, 0],
    );
    const cone = brush.defs.linear(
      [
        [0, tone(brush.accent, 0.08)],
        [1, shadow(brush.accent, 0.12)],
      ],
      [0, 0, 1, 0],
    );
    const teeth = (x: number, y: number, width: number): string => {
      const count = Math.max(2, Math.round(width / 6));
      return Array.from({ length: count }, (_, i) =>
        rect(x + (i * width) / count, y - 4, (width / count) * 0.58, 5, brush.main),
      ).join("");
    };
    const tower = (x: number, top: number, width: number): string =>
      rect(x - width / 2, top, width, -top, wall) +
      rect(x - width / 2 - 1.5, top - 1, width + 3, 4, brush.dark) +
      path(
        `M${x - width / 2 - 3} ${top - 1}L${x} ${top - width * 1.5}L${x + width / 2 + 3} ${top - 1}Z`,
        cone,
      ) +
      path(
        `M${x} ${top - width * 1.5}v-8l9 ${3 + sway(brush.phase, x / 40)}l-9 3`,
        brush.lit("#e8b23f"),
      ) +
      path(`M${x - 2.4} ${top + 18}v-6q2.4 -4 4.8 0v6Z`, glass(brush));
    return [
      tower(0, -68, 18),
      tower(-24, -52, 13),
      tower(24, -56, 13),
      rect(-30, -38, 60, 38, brush.body),
      teeth(-30, -38, 60),
      tower(-40, -42, 16),
      tower(40, -42, 16),
      ...[-18, 14].map((x) => path(`M${x} -18v-9q2 -4 4 0v9Z`, glass(brush))),
      path("M-9 0V-16Q-9 -26 0 -26Q9 -26 9 -16V0Z", brush.deep),
      path("M-7 0V-16Q-7 -23 0 -23Q7 -23 7 -16V0Z", brush.lit("#6b4636")),
      stroke("M-3.5 0V-21M0 0V-23M3.5 0V-21", brush.lit("#4a2f26"), 0.8),
      stroke(
        "M-26 -30h6M-22 -12h7M14 -32h6M16 -10h7M-38 -24h5M36 -26h5M-2 -50h5M-4 -42h5",
        brush.dark,
        1.2,
      ),
    ].join("");
  },
};

const church: Subject = {
  stands: "ground",
  tall: 420,
  aspect: 0.75,
  colors: [["#f1ebe0", "#6f5560"]],
  draw: (brush) =>
    [
      rect(-8, -34, 42, 34, brush.dark),
      path("M-8 -34L2 -52H28L38 -34Z", brush.accent),
      ...[8, 18, 28].map((x) => path(`M${x - 2.4} -10v-10q2.400 -4 4.800 0v10Z`, glass(brush))),
      rect(-30, -58, 24, 58, brush.body),
      path(
        "M-33 -57L-18 -100L-3 -57Z",
        brush.defs.linear(
          [
            [0, tone(brush.accent, 0.08)],
            [1, shadow(brush.accent, 0.08)],
          ],
          [0, 0, 1, 0],
        ),
      ),
      stroke("M-18 -100V-110M-21.500 -106H-14.500", brush.lit("#d8b04c"), 1.6),
      circle(-18, -44, 5, brush.lit("#fff8ea")),
      stroke("M-18 -44V-47.500M-18 -44L-15.600 -43", brush.lit("#3a2c33"), 0.9),
      path("M-23 0V-14Q-18 -21 -13 -14V0Z", brush.lit("#6b4636")),
      path("M-20.400 -24v-7q2.400 -4 4.800 0v7Z", glass(brush)),
    ].join(""),
};

const pagoda: Subject = {
  stands: "ground",
  tall: 470,
  aspect: 0.72,
  colors: [["#c4483c", "#3d4652"]],
  draw: (brush) => {
    const floor = (y: number, half: number): string =>
      rect(-half * 0.62, y - 16, half * 1.24, 16, brush.body) +
      stroke(`M${-half * 0.3} ${y}v-16M0 ${y}v-16M${half * 0.3} ${y}v-16`, brush.deep, 1) +
      rect(-half * 0.2, y - 11, half * 0.4, 11, glass(brush)) +
      path(
        `M${-half - 5} ${y - 17}Q${-half * 0.7} ${y - 16} ${-half * 0.5} ${y - 24}H${half * 0.5}Q${half * 0.7} ${y - 16} ${half + 5} ${y - 17}Q${half} ${y - 13} ${half * 0.8} ${y - 13}H${-half * 0.8}Q${-half} ${y - 13} ${-half - 5} ${y - 17}Z`,
        brush.defs.linear([
          [0, tone(brush.accent, 0.08)],
          [1, tone(brush.accent, -0.06)],
        ]),
      );
    return (
      rect(-30, -4, 60, 4, brush.lit("#b8aa98")) +
      floor(-4, 30) +
      floor(-27, 25) +
      floor(-50, 20) +
      floor(-73, 14) +
      stroke("M0 -92V-106", brush.lit("#d8b04c"), 1.8) +
      [-94, -98, -102].map((y) => ellipse(0, y, 3, 0.9, brush.lit("#d8b04c"))).join("")
    );
  },
};

export const buildings = { house, castle, church, pagoda } as const;
