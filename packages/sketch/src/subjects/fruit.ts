/** Fruit: orange, lemon, and a bowl of the fruit that the prompt names. */
import { type Color, tone } from "../color.ts";
import { circle, ellipse, group, path, stroke } from "../svg.ts";
import { type Brush, type Subject, shadow } from "./subject.ts";

const gloss = (x: number, y: number, r: number): string =>
  ellipse(x - r * 0.36, y - r * 0.42, r * 0.24, r * 0.17, "#ffffff", { "fill-opacity": 0.5 });

/** A gradient that is lit from the upper left, like all subjects. */
const round = (brush: Brush, color: Color): string =>
  brush.defs.radial(
    [
      [0, tone(color, 0.1)],
      [0.55, color],
      [1, shadow(color, 0.13)],
    ],
    [0.36, 0.3, 0.75],
  );

function citrus(brush: Brush, x: number, y: number, r: number, color: Color): string {
  const pores = Array.from({ length: 9 }, (_, i) => {
    const [angle, far] = [i * 2.4, r * (0.25 + 0.06 * i)];
    return `M${(x + Math.cos(angle) * far).toFixed(1)} ${(y + Math.sin(angle) * far).toFixed(1)}h0.1`;
  }).join("");
  return (
    circle(x, y, r, round(brush, color)) +
    stroke(pores, shadow(color, 0.1), r * 0.06, { "stroke-opacity": 0.6 }) +
    gloss(x, y, r)
  );
}

const leaf = (brush: Brush, x: number, y: number, s: number): string =>
  path(
    `M${x} ${y}C${x + 8 * s} ${y - 16 * s} ${x + 26 * s} ${y - 16 * s} ${x + 34 * s} ${y - 8 * s}C${x + 26 * s} ${y + 2 * s} ${x + 10 * s} ${y + 4 * s} ${x} ${y}Z`,
    brush.lit("#5f9f4a"),
  );

const orange: Subject = {
  stands: "table",
  tall: 190,
  aspect: 1,
  colors: [["#f08a24", "#5f9f4a"]],
  draw: (brush) =>
    [
      citrus(brush, 0, -44, 44, brush.main),
      stroke("M0 -84Q1 -90 5 -94", brush.lit("#6b5a36"), 4),
      leaf(brush, 4, -88, 1),
    ].join(""),
};

const lemon: Subject = {
  stands: "table",
  tall: 170,
  aspect: 1.35,
  colors: [["#f4d63c", "#5f9f4a"]],
  draw: (brush) =>
    group(
      { transform: "rotate(-8 0 -42)" },
      path(
        "M-66 -44C-58 -48 -54 -56 -46 -64C-20 -88 26 -86 46 -62C52 -54 58 -50 66 -42C58 -36 54 -30 46 -22C24 0 -22 0 -46 -22C-54 -30 -58 -40 -66 -44Z",
        round(brush, brush.main),
      ),
      stroke("M-30 -30h0.1M-6 -22h0.1M20 -28h0.1M34 -44h0.1M4 -46h0.1", brush.dark, 2.4),
      ellipse(-18, -62, 13, 7, "#ffffff", { "fill-opacity": 0.5 }),
      leaf(brush, 58, -46, 0.7),
    ),
};

/** The fruit in the bowl, by the word of the prompt. */
const contents: Readonly<Record<string, readonly Color[]>> = {
  bowl_of_oranges: ["#f08a24", "#f39a34", "#ea7d1c"],
  bowl_of_lemons: ["#f4d63c", "#f0cc2c", "#f7de58"],
  bowl_of_apples: ["#d63d3a", "#c8322f", "#8fb84a"],
  bowl_of_cherries: ["#b81f3a", "#c92a45", "#a31a34"],
  bowl_of_peaches: ["#f5a878", "#f09a6a", "#f8b68a"],
};
const mixed = ["#f08a24", "#d63d3a", "#8fb84a", "#f4d63c"];

const fruitBowl: Subject = {
  stands: "table",
  tall: 290,
  aspect: 1.35,
  colors: [
    ["#3f7f8c", "#f3e2c0"],
    ["#5a7fb0", "#f4efe6"],
    ["#c8b79a", "#8a5a3c"],
  ],
  draw: (brush) => {
    const colors = contents[brush.word] ?? mixed;
    const fruit = (x: number, y: number, r: number, i: number): string =>
      citrus(brush, x, y, r, brush.lit(colors[i % colors.length] ?? "#f08a24"));
    return [
      ellipse(0, -48, 62, 13, brush.deep),
      fruit(-22, -74, 18, 0),
      fruit(18, -78, 18, 1),
      fruit(-44, -58, 18, 2),
      fruit(44, -58, 18, 3),
      fruit(-2, -62, 20, 1),
      fruit(-24, -52, 18, 3),
      fruit(23, -52, 19, 0),
      leaf(brush, 20, -94, 0.7),
      path("M-66 -50Q0 -26 66 -50C64 -22 42 -6 24 -5H-24C-42 -6 -64 -22 -66 -50Z", brush.body),
      path(
        "M-61 -36Q0 -12 61 -36C59 -30 57 -26 54 -22Q0 -2 -54 -22C-57 -26 -59 -30 -61 -36Z",
        brush.accent,
        {
          "fill-opacity": 0.75,
        },
      ),
      ellipse(0, -4, 26, 4, brush.dark),
      stroke("M-66 -50Q0 -26 66 -50", brush.light, 4),
      path("M-56 -42C-54 -30 -46 -18 -36 -12C-48 -16 -58 -28 -60 -42Z", "#ffffff", {
        "fill-opacity": 0.35,
      }),
    ].join("");
  },
};

export const fruit = { orange, lemon, fruitBowl } as const;
