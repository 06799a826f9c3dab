/** Dragon, dinosaur, ghost. */
import { tone } from "../color.ts";
import { circle, ellipse, group, path, stroke } from "../svg.ts";
import { eyes } from "./pets.ts";
import { type Subject, sway } from "./subject.ts";

const dragon: Subject = {
  stands: "ground",
  tall: 420,
  aspect: 1.2,
  colors: [
    ["#4f9a6a", "#f2c45a"],
    ["#b8433f", "#f6c667"],
    ["#5b6cc0", "#f0b7d0"],
  ],
  seat: [6, -64],
  riderInside: true,
  draw: (brush) => {
    const flap = sway(brush.phase) * 5;
    return [
      path(
        `M8 -58C16 ${-92 - flap} 40 ${-104 - flap} 60 ${-98 - flap}C52 ${-90 - flap} 54 ${-82 - flap} 58 ${-76 - flap}C48 ${-76 - flap} 46 -70 48 -62C38 -66 32 -60 30 -52Z`,
        brush.deep,
      ),
      path(
        "M20 -8C44 0 60 -8 56 -26C54 -36 44 -36 42 -30L36 -42L52 -44C70 -34 66 2 34 4C22 4 14 2 12 0Z",
        brush.main,
      ),
      path(
        "M-18 -40C-24 -54 -26 -62 -24 -74L-8 -80C-4 -66 6 -58 18 -50C34 -40 34 -8 22 0H-18C-22 -14 -14 -24 -18 -40Z",
        brush.body,
      ),
      path(
        "M-17 -42C-22 -54 -24 -62 -22 -70L-14 -72C-12 -58 -2 -46 2 -34C4 -20 0 -8 -4 0H-18C-22 -14 -13 -24 -17 -42Z",
        brush.accent,
      ),
      stroke(
        "M-20 -60h8M-18 -50h11M-16 -40h14M-16 -30h16M-18 -20h17M-19 -10h16",
        tone(brush.accent, -0.1),
        1.6,
      ),
      path("M6 -24C2 -8 2 -2 0 0H24C26 -14 20 -26 6 -24Z", brush.main),
      ellipse(6, -2, 11, 3.6, brush.dark),
      path("M-10 -30Q-24 -24 -26 -16Q-20 -16 -8 -20Z", brush.dark),
      path("M-8 -84L2 -90L0 -78ZM-2 -74L9 -78L5 -67ZM4 -64L16 -66L10 -56Z", brush.accent),
      path(
        `M0 -56C2 ${-88 - flap} 22 ${-100 - flap} 44 ${-100 - flap}C36 ${-90 - flap} 38 ${-80 - flap} 42 ${-76 - flap}C32 ${-76 - flap} 28 -68 30 -60C22 -62 16 -54 14 -46Z`,
        brush.dark,
      ),
      stroke(
        `M6 -56C10 ${-80 - flap} 24 ${-92 - flap} 40 ${-98 - flap}M10 -54C16 -70 26 -76 40 ${-76 - flap}`,
        brush.main,
        2,
      ),
      brush.rider,
      path("M-10 -92L-4 -102L-3 -88ZM-18 -94L-16 -104L-10 -92Z", brush.accent),
      path(
        "M-4 -78C-2 -92 -14 -98 -24 -94C-34 -90 -46 -88 -50 -80C-50 -72 -42 -70 -34 -72C-28 -66 -8 -64 -4 -78Z",
        brush.body,
      ),
      circle(-46, -82, 1.6, brush.deep),
      stroke("M-48 -76Q-38 -74 -30 -77", brush.deep, 1.4),
      circle(-21, -85, 4, brush.lit("#fff3cf")),
      ellipse(-21.5, -85, 1.5, 3.4, brush.lit("#231a24")),
    ].join("");
  },
};

const dinosaur: Subject = {
  stands: "ground",
  tall: 400,
  aspect: 1.74,
  colors: [
    ["#7fae5b", "#cfe3a2"],
    ["#5fa39a", "#bfe3d0"],
  ],
  seat: [16, -54],
  draw: (brush) =>
    [
      path("M30 -14H44L44 0H30ZM-6 -14H8V0H-6Z", brush.deep),
      path("M38 -24H52L53 0H38ZM-20 -24H-5L-4 0H-19Z", brush.main),
      path(
        "M-26 -30C-22 -46 -26 -66 -34 -80C-38 -92 -30 -100 -20 -100C-10 -100 -8 -90 -10 -80C-8 -64 -4 -54 14 -54C40 -54 52 -40 66 -26C76 -16 84 -18 86 -14C78 -4 60 -6 50 -12C30 -10 -20 -10 -26 -30Z",
        brush.body,
      ),
      path("M-22 -34C-10 -18 24 -14 48 -13C28 -9 -18 -12 -25 -28Z", brush.accent),
      stroke("M-17 -1h0.1M-12 -1h0.1M-7 -1h0.1M41 -1h0.1M46 -1h0.1M51 -1h0.1", brush.accent, 3.4),
      path(
        "M-20 -100C-10 -100 -8 -92 -10 -86C-18 -78 -34 -76 -46 -80C-52 -84 -48 -94 -40 -95C-34 -97 -28 -100 -20 -100Z",
        brush.body,
      ),
      circle(-24, -92, 2.8, brush.lit("#201a28")),
      circle(-24.8, -93, 1, "#ffffff"),
      stroke("M-48 -84Q-36 -80 -28 -84", brush.deep, 1.4),
      ...[
        [4, -48, 3],
        [16, -46, 4],
        [30, -42, 3.6],
        [42, -34, 3],
        [-4, -60, 2.4],
        [22, -34, 3],
        [-14, -74, 2],
      ].map(([x = 0, y = 0, r = 2]) => circle(x, y, r, brush.dark, { "fill-opacity": 0.6 })),
    ].join(""),
};

const ghost: Subject = {
  stands: "air",
  tall: 260,
  aspect: 0.8,
  colors: [["#f4f1fb", "#c9c0e6"]],
  draw: (brush) =>
    group(
      { transform: `translate(0 ${sway(brush.phase) * 3})` },
      path(
        "M-30 -60C-30 -88 -16 -100 0 -100C16 -100 30 -88 30 -60C30 -40 32 -20 38 -6Q30 0 24 -8Q16 4 8 -6Q0 4 -8 -6Q-16 4 -24 -8Q-30 0 -38 -6C-32 -20 -30 -40 -30 -60Z",
        brush.defs.linear([
          [0, brush.main],
          [0.7, brush.light],
          [1, brush.accent],
        ]),
        { "fill-opacity": 0.93 },
      ),
      path(
        "M-28 -52Q-44 -54 -44 -42Q-36 -40 -29 -40ZM28 -52Q44 -54 44 -42Q36 -40 29 -40Z",
        brush.main,
      ),
      eyes(brush, 0, -68, 10, 5.4),
      ellipse(0, -54, 4.4, 5.6, brush.lit("#3d3350")),
      circle(-18, -57, 4, brush.lit("#f5b5c4"), { "fill-opacity": 0.7 }),
      circle(18, -57, 4, brush.lit("#f5b5c4"), { "fill-opacity": 0.7 }),
    ),
};

export const mythicalCreatures = { dragon, dinosaur, ghost } as const;
