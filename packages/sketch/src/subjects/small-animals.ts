/** Small animals: butterfly, bee, frog, snail, hedgehog, mouse. */
import { tone } from "../color.ts";
import { circle, ellipse, group, type Point, path, polygon, stroke } from "../svg.ts";
import { eyes } from "./pets.ts";
import { type Subject, sway } from "./subject.ts";

const butterfly: Subject = {
  stands: "air",
  tall: 120,
  aspect: 1.25,
  colors: [
    ["#f08a3c", "#3a2a3a"],
    ["#5b9bd9", "#23304f"],
    ["#c77dcf", "#432a57"],
    ["#f2c84b", "#4a3527"],
  ],
  draw: (brush) => {
    const open = 0.82 + 0.18 * sway(brush.phase);
    const wing = (s: number): string =>
      group(
        { transform: `scale(${s * open} 1)` },
        path("M3 -52C8 -96 44 -108 58 -92C66 -76 48 -52 6 -48Z", brush.body),
        path("M58 -92C66 -76 48 -52 6 -48C36 -58 54 -70 58 -92Z", brush.accent, {
          "fill-opacity": 0.65,
        }),
        path("M4 -48C28 -50 50 -40 46 -20C40 -2 14 -8 4 -42Z", brush.dark),
        path("M46 -20C40 -2 14 -8 4 -42C18 -20 34 -12 46 -20Z", brush.accent, {
          "fill-opacity": 0.55,
        }),
        circle(40, -80, 5, "#ffffff", { "fill-opacity": 0.75 }),
        circle(29, -68, 3.2, "#ffffff", { "fill-opacity": 0.6 }),
        circle(31, -26, 4, brush.light),
      );
    return [
      wing(-1),
      wing(1),
      stroke("M-1 -66C-6 -82 -12 -88 -18 -92M1 -66C6 -82 12 -88 18 -92", brush.accent, 1.8),
      ellipse(0, -42, 4, 26, brush.accent),
      circle(0, -68, 5, brush.accent),
    ].join("");
  },
};

const bee: Subject = {
  stands: "air",
  tall: 90,
  aspect: 1.3,
  colors: [["#f5c33b", "#3b2b2a"]],
  draw: (brush) =>
    group(
      { transform: `translate(0 ${sway(brush.phase) * 3})` },
      ellipse(4, -78, 14, 24, "#ffffff", {
        "fill-opacity": 0.7,
        transform: `rotate(${18 + sway(brush.phase * 2) * 10} 4 -58)`,
      }),
      ellipse(20, -76, 12, 22, "#ffffff", {
        "fill-opacity": 0.55,
        transform: `rotate(${44 - sway(brush.phase * 2) * 10} 16 -56)`,
      }),
      path("M50 -40L64 -36L50 -32Z", brush.accent),
      ellipse(10, -38, 42, 27, brush.body),
      path(
        "M4 -65Q12 -38 4 -11L-6 -13Q2 -38 -6 -63ZM26 -63Q34 -38 26 -13L16 -11Q24 -38 16 -65ZM44 -54Q48 -38 44 -22L37 -17Q42 -38 37 -59Z",
        brush.accent,
      ),
      circle(-30, -42, 20, brush.body),
      circle(-37, -46, 4, brush.lit("#221a28")),
      circle(-38.3, -47.4, 1.4, "#ffffff"),
      stroke("M-46 -34Q-40 -30 -36 -33", brush.accent, 2),
      stroke("M-34 -61Q-38 -76 -48 -78M-26 -61Q-24 -76 -32 -84", brush.accent, 2.2),
    ),
};

const frog: Subject = {
  stands: "ground",
  tall: 190,
  aspect: 1.25,
  colors: [["#6fb04e", "#e9f2b8"]],
  draw: (brush) =>
    [
      path("M-30 -30C-56 -34 -66 -8 -52 0H-20Z", brush.dark),
      path("M30 -30C56 -34 66 -8 52 0H20Z", brush.dark),
      path("M-36 -30C-36 -60 36 -60 36 -30C38 -8 20 0 0 0C-20 0 -38 -8 -36 -30Z", brush.body),
      ellipse(0, -20, 22, 17, brush.accent),
      path("M-26 -22Q-34 -4 -32 0H-16Q-16 -10 -18 -20Z", brush.main),
      path("M26 -22Q34 -4 32 0H16Q16 -10 18 -20Z", brush.main),
      circle(-23, -82, 15, brush.main),
      circle(23, -82, 15, brush.main),
      path(
        "M-44 -60C-44 -86 -20 -86 0 -84C20 -86 44 -86 44 -60C44 -44 24 -38 0 -38C-24 -38 -44 -44 -44 -60Z",
        brush.body,
      ),
      circle(-23, -84, 10.5, brush.lit("#fff8e2")),
      circle(23, -84, 10.5, brush.lit("#fff8e2")),
      circle(-22, -83, 6, brush.lit("#20222a")),
      circle(22, -83, 6, brush.lit("#20222a")),
      circle(-24, -86, 2, "#ffffff"),
      circle(20, -86, 2, "#ffffff"),
      stroke("M-26 -56Q0 -42 26 -56", brush.deep, 2.2),
      circle(-32, -56, 4.4, brush.lit("#f29a8a"), { "fill-opacity": 0.6 }),
      circle(32, -56, 4.4, brush.lit("#f29a8a"), { "fill-opacity": 0.6 }),
    ].join(""),
};

const snail: Subject = {
  stands: "ground",
  tall: 150,
  aspect: 1.5,
  colors: [["#d8a06a", "#b5694e"]],
  draw: (brush) =>
    [
      stroke("M-52 -54Q-58 -76 -66 -88M-44 -54Q-42 -76 -40 -90", brush.main, 4),
      circle(-66, -90, 4.4, brush.deep),
      circle(-40, -92, 4.4, brush.deep),
      path(
        "M-60 -58C-46 -68 -34 -56 -34 -40C-32 -24 -10 -16 20 -18C46 -20 64 -10 72 0H-44C-62 0 -68 -44 -60 -58Z",
        brush.body,
      ),
      circle(
        14,
        -52,
        42,
        brush.defs.linear(
          [
            [0, tone(brush.accent, 0.1)],
            [1, tone(brush.accent, -0.1)],
          ],
          [0.2, 0, 0.8, 1],
        ),
      ),
      stroke(
        "M14 -10C-16 -10 -28 -36 -22 -58C-16 -82 20 -90 38 -70C54 -50 42 -24 20 -24C0 -24 -8 -44 -2 -58C6 -70 24 -68 28 -56C30 -46 22 -38 14 -42",
        tone(brush.accent, -0.18),
        3.4,
      ),
      circle(-52, -46, 2, brush.lit("#221a28")),
      stroke("M-62 -38Q-56 -33 -50 -37", brush.deep, 1.8),
    ].join(""),
};

const hedgehog: Subject = {
  stands: "ground",
  tall: 180,
  aspect: 1.4,
  colors: [["#7a5a48", "#f1d3ae"]],
  draw: (brush) => {
    const spikes: Point[] = Array.from({ length: 33 }, (_, i) => {
      const angle = Math.PI * (1.02 + (i / 32) * 1.02) - 0.12;
      const reach = i % 2 ? 1 : 0.84;
      return [12 + Math.cos(angle) * 60 * reach, -16 + Math.sin(angle) * 82 * reach];
    });
    const marks = Array.from(
      { length: 14 },
      (_, i) => `M${-18 + (i % 7) * 11} ${-34 - Math.floor(i / 7) * 18 - (i % 3) * 4}l3 -9`,
    ).join("");
    return [
      path(polygon([...spikes, [60, -4], [-40, -4]]), brush.body),
      stroke(marks, brush.dark, 2.4),
      path(
        "M-30 -48C-48 -46 -64 -30 -70 -22C-74 -16 -66 -10 -58 -10C-44 0 30 2 58 -6C30 -16 -14 -12 -18 -34Z",
        brush.accent,
      ),
      ellipse(-34, -2, 10, 4, tone(brush.accent, -0.08)),
      ellipse(34, -2, 10, 4, tone(brush.accent, -0.08)),
      circle(-26, -40, 7, brush.accent),
      circle(-26, -40, 4, brush.lit("#e2a98e")),
      circle(-71, -20, 4.6, brush.lit("#2b2026")),
      circle(-50, -28, 3.4, brush.lit("#2b2026")),
      circle(-51, -29, 1.1, "#ffffff"),
      stroke("M-62 -13Q-56 -10 -52 -13", brush.lit("#8d5a48"), 1.5),
    ].join("");
  },
};

const mouse: Subject = {
  stands: "ground",
  tall: 170,
  aspect: 1.2,
  colors: [["#a9a3a8", "#f2bdbd"]],
  draw: (brush) =>
    [
      stroke(`M34 -8C60 -2 62 -30 ${54 + sway(brush.phase) * 4} -44`, brush.accent, 3),
      path("M-30 0C-36 -34 -10 -52 10 -48C34 -44 46 -16 38 0Z", brush.body),
      circle(-32, -82, 17, brush.main),
      circle(12, -86, 17, brush.dark),
      circle(-32, -81, 11, brush.accent),
      circle(12, -85, 11, brush.accent),
      path(
        "M-44 -48C-44 -72 -26 -80 -10 -78C12 -78 20 -60 16 -46C10 -32 -10 -28 -22 -28C-36 -28 -44 -38 -44 -48Z",
        brush.body,
      ),
      eyes(brush, -17, -56, 11, 4),
      circle(-22, -42, 4, brush.accent),
      ellipse(-16, -3, 8, 4, brush.accent),
      ellipse(20, -3, 9, 4, brush.accent),
      stroke("M-30 -42l-18 -3M-30 -39l-17 3M-14 -42l18 -3M-14 -39l17 3", brush.light, 1),
    ].join(""),
};

export const smallAnimals = { butterfly, bee, frog, snail, hedgehog, mouse } as const;
