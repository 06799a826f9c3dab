/** Wild animals: elephant, deer, lion, giraffe, panda. */
import { tone } from "../color.ts";
import { circle, ellipse, group, path, stroke } from "../svg.ts";
import { leg } from "./legs.ts";
import { eyes } from "./pets.ts";
import { type Subject, sway } from "./subject.ts";

const elephant: Subject = {
  stands: "ground",
  tall: 380,
  aspect: 1.35,
  colors: [["#8f97a6", "#f0c4bd"]],
  seat: [20, -82],
  draw: (brush) => {
    const ear = sway(brush.phase) * 3;
    return [
      stroke(`M60 -58Q70 -46 ${66 + sway(brush.phase) * 3} -32`, brush.dark, 3),
      leg(40, -40, 17, brush.deep, brush.lit("#e8dccb")),
      leg(4, -40, 17, brush.deep, brush.lit("#e8dccb")),
      leg(50, -44, 18, brush.main, brush.lit("#f3e8d8")),
      leg(-10, -44, 18, brush.main, brush.lit("#f3e8d8")),
      path(
        "M-26 -40C-30 -76 0 -86 24 -84C52 -84 66 -62 62 -34C58 -22 -16 -20 -26 -40Z",
        brush.body,
      ),
      path(
        "M-20 -60C-20 -90 -40 -98 -52 -90C-66 -82 -68 -62 -62 -46C-60 -30 -66 -18 -72 -12C-78 -6 -70 4 -62 -2C-50 -12 -46 -26 -46 -36C-36 -34 -22 -42 -20 -60Z",
        brush.body,
      ),
      stroke("M-61 -34l9 1M-62 -27l8 2M-65 -20l8 2", brush.dark, 1.4),
      path("M-50 -38C-58 -34 -62 -26 -60 -18C-54 -20 -46 -28 -44 -36Z", brush.lit("#fbf3e4")),
      path(
        `M-38 -84C-20 -${96 + ear} 2 -86 2 -62C2 -44 -12 -34 -20 -40C-30 -50 -40 -66 -38 -84Z`,
        brush.dark,
      ),
      path(
        `M-33 -80C-20 -${88 + ear} -4 -80 -4 -62C-4 -50 -12 -42 -18 -46C-26 -54 -34 -66 -33 -80Z`,
        brush.accent,
        { "fill-opacity": 0.55 },
      ),
      circle(-50, -68, 3, brush.lit("#221a28")),
      circle(-51, -69, 1, "#ffffff"),
    ].join("");
  },
};

const deer: Subject = {
  stands: "ground",
  tall: 400,
  aspect: 0.95,
  colors: [["#b37a4a", "#f4e2c8"]],
  draw: (brush) => {
    const antler = (s: number): string =>
      stroke(
        `M${-26 + s * 3} -78C${-26 + s * 14} -84 ${-26 + s * 16} -92 ${-26 + s * 12} -100M${-26 + s * 11} -84L${-26 + s * 4} -94M${-26 + s * 14.4} -90L${-26 + s * 20} -97`,
        brush.lit("#6b4a38"),
        2.2,
      );
    return [
      leg(30, -34, 6, brush.deep, brush.lit("#3a2c33")),
      leg(-10, -34, 6, brush.deep, brush.lit("#3a2c33")),
      leg(36, -38, 6.4, brush.main, brush.lit("#3a2c33")),
      leg(-17, -38, 6.4, brush.main, brush.lit("#3a2c33")),
      path("M36 -52Q46 -56 44 -44Q40 -42 36 -44Z", brush.accent),
      path(
        "M-24 -46C-26 -54 -28 -60 -32 -66L-18 -72C-14 -60 -4 -54 8 -54C24 -54 40 -56 40 -42C40 -30 28 -30 14 -28C-4 -26 -20 -30 -24 -46Z",
        brush.body,
      ),
      path("M-22 -40C-14 -30 4 -28 18 -29C4 -25 -16 -26 -22 -40Z", brush.accent),
      ...[
        [6, -48],
        [16, -50],
        [26, -48],
        [11, -42],
        [21, -43],
        [31, -42],
      ].map(([x = 0, y = 0]) => circle(x, y, 1.5, brush.accent)),
      antler(-1),
      antler(1),
      path("M-16 -76C-6 -80 -2 -76 -3 -72C-8 -70 -14 -71 -17 -73Z", brush.dark),
      path("M-32 -76C-42 -80 -46 -76 -45 -72C-40 -70 -34 -71 -31 -73Z", brush.main),
      path(
        "M-24 -83C-33 -83 -35 -76 -33 -70C-32 -64 -30 -58 -25 -57C-20 -58 -17 -64 -16 -70C-14 -77 -16 -83 -24 -83Z",
        brush.body,
      ),
      ellipse(-25, -61, 5, 4.4, brush.accent),
      ellipse(-25, -62.6, 2.6, 1.9, brush.lit("#2b2026")),
      circle(-30, -71, 1.9, brush.lit("#221a28")),
      circle(-19, -71, 1.9, brush.lit("#221a28")),
    ].join("");
  },
};

const lion: Subject = {
  stands: "ground",
  tall: 340,
  aspect: 1,
  colors: [["#e3aa55", "#a85c2c"]],
  draw: (brush) => {
    const mane = Array.from({ length: 14 }, (_, i) => {
      const angle = (i / 14) * Math.PI * 2;
      return circle(
        Math.cos(angle) * 27,
        -66 + Math.sin(angle) * 25,
        11,
        i % 2 ? brush.accent : tone(brush.accent, -0.05),
      );
    });
    return [
      stroke(`M22 -10Q46 -6 ${46 + sway(brush.phase) * 4} -34`, brush.main, 5),
      circle(46 + sway(brush.phase) * 4, -38, 6.5, brush.accent),
      path("M-26 0C-32 -26 -20 -50 0 -52C20 -50 32 -26 26 0Q0 3 -26 0Z", brush.body),
      path("M-14 -24Q-16 -3 -15 0H-2Q-1 -10 -2 -26Q-8 -36 -14 -24Z", brush.light),
      path("M14 -24Q16 -3 15 0H2Q1 -10 2 -26Q8 -36 14 -24Z", brush.main),
      ellipse(-9, -2.4, 8, 4, brush.light),
      ellipse(9, -2.4, 8, 4, brush.light),
      ...mane,
      ellipse(0, -66, 28, 26, brush.accent),
      circle(-17, -84, 6.5, brush.main),
      circle(17, -84, 6.5, brush.main),
      ellipse(0, -65, 21, 20, brush.body),
      ellipse(0, -57, 11, 8, brush.lit("#fbe6c2")),
      eyes(brush, 0, -69, 9, 3.4),
      path("M-5 -62H5L0 -56Z", brush.lit("#5c332c")),
      stroke("M0 -57v3M-6 -52Q-3 -49 0 -53Q3 -49 6 -52", brush.lit("#5c332c"), 1.2),
    ].join("");
  },
};

const giraffe: Subject = {
  stands: "ground",
  tall: 520,
  aspect: 0.6,
  colors: [["#f0c468", "#a8652f"]],
  draw: (brush) => {
    const patch = (x: number, y: number, r: number): string =>
      path(
        `M${x - r} ${y - r * 0.4}L${x - r * 0.2} ${y - r}L${x + r * 0.9} ${y - r * 0.5}L${x + r * 0.7} ${y + r * 0.8}L${x - r * 0.6} ${y + r * 0.9}Z`,
        brush.accent,
      );
    return [
      leg(17, -30, 5.4, brush.deep, brush.lit("#5a3b2c")),
      leg(-6, -30, 5.4, brush.deep, brush.lit("#5a3b2c")),
      leg(22, -34, 5.6, brush.main, brush.lit("#5a3b2c")),
      leg(-10, -34, 5.6, brush.main, brush.lit("#5a3b2c")),
      stroke("M24 -44Q30 -36 27 -26", brush.dark, 1.8),
      path(
        "M-15 -40C-16 -56 -16 -70 -18 -82L-9 -86C-6 -70 -2 -56 6 -50C16 -48 26 -48 25 -36C22 -24 -12 -24 -15 -40Z",
        brush.body,
      ),
      patch(-8, -42, 4.4),
      patch(2, -40, 4.6),
      patch(13, -42, 5),
      patch(-12, -55, 3),
      patch(-6, -52, 3),
      patch(-13, -66, 2.6),
      patch(-9, -61, 2.2),
      patch(-12.5, -76, 2.3),
      patch(20, -37, 3),
      patch(8, -33, 3.2),
      stroke("M-15 -91V-97M-9 -92V-98", brush.accent, 1.6),
      circle(-15, -98, 1.7, brush.accent),
      circle(-9, -99, 1.7, brush.accent),
      path("M-7 -90L1 -94L-3 -87Z", brush.main),
      path(
        "M-5 -84C-5 -93 -14 -94 -18 -91C-22 -88 -27 -84 -29 -80C-29 -76 -25 -75 -22 -76C-17 -77 -9 -78 -5 -84Z",
        brush.body,
      ),
      path("M-29 -80C-29 -76 -25 -75 -22 -76C-22 -80 -25 -82 -29 -80Z", brush.lit("#fbe8c0")),
      circle(-16, -87, 1.5, brush.lit("#221a28")),
    ].join("");
  },
};

const panda: Subject = {
  stands: "ground",
  tall: 340,
  aspect: 0.86,
  colors: [["#fbf7f0", "#2c2733"]],
  draw: (brush) =>
    [
      path("M-34 0C-42 -32 -30 -60 0 -62C30 -60 42 -32 34 0Q0 4 -34 0Z", brush.body),
      path(
        "M-30 -56Q0 -66 30 -56C38 -46 38 -40 36 -34Q0 -50 -36 -34C-38 -40 -38 -46 -30 -56Z",
        brush.accent,
      ),
      path("M-32 -50C-44 -42 -42 -24 -32 -18C-24 -20 -20 -34 -22 -44Z", brush.accent),
      path("M32 -50C44 -42 42 -24 32 -18C24 -20 20 -34 22 -44Z", brush.accent),
      ellipse(-20, -5, 14, 8.5, brush.accent),
      ellipse(20, -5, 14, 8.5, brush.accent),
      group(
        { transform: `rotate(${sway(brush.phase) * 5} 26 -24)` },
        stroke("M24 -14L34 -56", brush.lit("#7fb255"), 3),
        path(
          "M33 -50Q44 -56 46 -48Q40 -44 33 -50ZM31 -44Q20 -48 19 -40Q26 -38 31 -44Z",
          brush.lit("#8fc463"),
        ),
      ),
      circle(-21, -93, 9.5, brush.accent),
      circle(21, -93, 9.5, brush.accent),
      ellipse(0, -75, 28, 23, brush.body),
      ellipse(-11.5, -77, 7.6, 8.6, brush.accent, { transform: "rotate(24 -11.5 -77)" }),
      ellipse(11.5, -77, 7.6, 8.6, brush.accent, { transform: "rotate(-24 11.5 -77)" }),
      circle(-10.5, -78, 3.4, "#ffffff"),
      circle(10.5, -78, 3.4, "#ffffff"),
      circle(-10.5, -78, 2, brush.lit("#1a1720")),
      circle(10.5, -78, 2, brush.lit("#1a1720")),
      ellipse(0, -68, 4.6, 3.2, brush.accent),
      stroke("M0 -65v3M-5 -60Q-2 -57 0 -61Q2 -57 5 -60", brush.accent, 1.2),
    ].join(""),
};

export const wildAnimals = { elephant, deer, lion, giraffe, panda } as const;
