/** Objects on a table: cup, teapot, book, vase, cake, apple, clock. */
import { tone } from "../color.ts";
import { circle, curve, ellipse, group, path, rect, stroke } from "../svg.ts";
import { flame } from "./lights.ts";
import { type Brush, type Subject, sway } from "./subject.ts";

const steam = (brush: Brush, x: number, y: number): string =>
  [-8, 0, 8]
    .map((dx, i) => {
      const wave = sway(brush.phase, i / 3) * 3;
      return stroke(
        curve([
          [x + dx, y],
          [x + dx + 4 + wave, y - 9],
          [x + dx - 4 - wave, y - 18],
          [x + dx + 2 + wave, y - 28],
        ]),
        brush.lit("#ffffff"),
        2.6,
        { "stroke-opacity": 0.55 },
      );
    })
    .join("");

const cup: Subject = {
  stands: "table",
  tall: 320,
  aspect: 1.25,
  colors: [
    ["#f4efe6", "#c8553d"],
    ["#c8553d", "#fbe9d0"],
    ["#3f7f8c", "#f3e2c0"],
    ["#e9b44c", "#fff6e2"],
  ],
  draw: (brush) =>
    [
      steam(brush, -4, -70),
      ellipse(-2, -5, 58, 7, brush.deep),
      ellipse(-2, -8, 58, 7, brush.light),
      ellipse(-2, -8, 38, 4, brush.dark),
      stroke("M34 -54C58 -58 58 -22 28 -24", brush.dark, 7),
      path("M-42 -62H38C38 -34 32 -8 14 -6H-18C-36 -8 -42 -34 -42 -62Z", brush.body),
      path(
        "M-41 -50C-20 -40 16 -56 38 -48C37 -42 36 -38 35 -34C14 -42 -18 -26 -39 -36C-40 -40 -41 -46 -41 -50Z",
        brush.accent,
      ),
      ellipse(-2, -62, 40, 8, brush.light),
      ellipse(-2, -61, 35, 6, brush.lit("#5a3522")),
      path("M-24 -62C-12 -67 8 -66 16 -62C6 -58 -14 -58 -24 -62Z", brush.lit("#c99a6c")),
      path("M-33 -56C-32 -40 -29 -24 -24 -14C-31 -24 -35 -42 -35 -55Z", "#ffffff", {
        "fill-opacity": 0.45,
      }),
    ].join(""),
};

const teapot: Subject = {
  stands: "table",
  tall: 300,
  aspect: 1.4,
  colors: [["#5f8fa8", "#f4e4c0"]],
  draw: (brush) =>
    [
      steam(brush, -64, -62),
      stroke("M40 -60C72 -66 74 -20 36 -20", brush.dark, 8),
      path("M-36 -24C-56 -28 -54 -54 -70 -60L-60 -66C-44 -58 -48 -46 -34 -46Z", brush.dark),
      path(
        "M-44 -36C-44 -62 -24 -72 0 -72C24 -72 44 -62 44 -36C44 -12 28 -2 0 -2C-28 -2 -44 -12 -44 -36Z",
        brush.body,
      ),
      path("M-43 -42Q0 -26 43 -42L44 -32Q0 -16 -44 -32Z", brush.accent),
      ...[-28, -10, 10, 28].map((x) => circle(x, -30 + (x * x) / -90 + 4, 3.6, brush.main)),
      path("M-20 -70Q0 -88 20 -70Q0 -64 -20 -70Z", brush.light),
      circle(0, -82, 5.6, brush.accent),
      path("M-34 -46C-32 -58 -24 -64 -16 -66C-24 -58 -27 -50 -28 -40Z", "#ffffff", {
        "fill-opacity": 0.4,
      }),
    ].join(""),
};

const book: Subject = {
  stands: "table",
  tall: 220,
  aspect: 1.7,
  colors: [
    ["#b5473f", "#f6c453"],
    ["#3f6f8e", "#f2e2b8"],
  ],
  draw: (brush) => {
    const lines = (s: 1 | -1): string =>
      Array.from(
        { length: 6 },
        (_, i) =>
          `M${s * 12} ${-72 + i * 9}Q${s * 38} ${-82 + i * 9} ${s * (i === 5 ? 40 : 64)} ${-74 + i * 9}`,
      ).join("");
    return [
      path(
        "M0 -8C-24 -20 -60 -16 -84 -8V-84C-60 -94 -24 -94 0 -84C24 -94 60 -94 84 -84V-8C60 -16 24 -20 0 -8Z",
        brush.body,
      ),
      path("M0 -12C-24 -26 -58 -22 -78 -15V-88C-58 -98 -24 -98 0 -88Z", brush.lit("#fbf4e4")),
      path("M0 -12C24 -26 58 -22 78 -15V-88C58 -98 24 -98 0 -88Z", brush.lit("#f1e6cf")),
      path(
        "M0 -12C-6 -16 -12 -18 -18 -19V-94C-12 -93 -6 -91 0 -88C6 -91 12 -93 18 -94V-19C12 -18 6 -16 0 -12Z",
        brush.lit("#8a6f58"),
        { "fill-opacity": 0.18 },
      ),
      stroke(lines(-1) + lines(1), brush.lit("#a89a88"), 1.8),
      path("M40 -92L48 -92V-52L44 -58L40 -52Z", brush.accent),
    ].join("");
  },
};

const vase: Subject = {
  stands: "table",
  tall: 360,
  aspect: 0.65,
  colors: [
    ["#4f7fa0", "#f08aa8"],
    ["#d98a5a", "#f6f1e6"],
  ],
  draw: (brush) => {
    const bloom = (x: number, y: number, r: number, color: string): string =>
      Array.from({ length: 6 }, (_, i) =>
        circle(
          x + Math.cos(i * 1.047) * r * 0.62,
          y + Math.sin(i * 1.047) * r * 0.62,
          r * 0.5,
          i % 2 ? color : tone(color, 0.05),
        ),
      ).join("") + circle(x, y, r * 0.4, brush.lit("#f7d26a"));
    const green = brush.lit("#5a9455");
    return group(
      {},
      stroke(
        "M0 -40C-4 -56 -14 -64 -18 -74M0 -40C2 -60 0 -72 2 -84M0 -40C6 -56 14 -62 18 -72M0 -40C-10 -50 -22 -50 -26 -54M0 -40C10 -50 20 -50 26 -52",
        green,
        2.2,
      ),
      path(
        "M-8 -52C-18 -60 -26 -58 -28 -62C-20 -68 -10 -62 -8 -52ZM8 -52C18 -62 28 -60 30 -64C22 -70 10 -64 8 -52Z",
        green,
      ),
      bloom(-19, -77, 10, brush.accent),
      bloom(2, -88, 12, tone(brush.accent, 0.05)),
      bloom(19, -75, 10, brush.lit("#f4b84a")),
      bloom(-27, -58, 8, brush.lit("#b59be8")),
      bloom(27, -56, 8, brush.accent),
      path(
        "M-8 -44H8C8 -36 20 -30 20 -16C20 -4 12 0 0 0C-12 0 -20 -4 -20 -16C-20 -30 -8 -36 -8 -44Z",
        brush.body,
      ),
      rect(-10, -46, 20, 4, brush.light, { rx: 2 }),
      path("M-14 -20C-14 -28 -8 -32 -6 -36C-6 -30 -10 -24 -10 -14Z", "#ffffff", {
        "fill-opacity": 0.4,
      }),
      stroke("M-19 -18Q0 -12 19 -18", brush.deep, 1.4),
    );
  },
};

const cake: Subject = {
  stands: "table",
  tall: 300,
  aspect: 1.1,
  colors: [["#f7b7c4", "#fff3e2"]],
  draw: (brush) =>
    [
      ellipse(0, -3, 54, 6, brush.lit("#d9d3cc")),
      ellipse(0, -6, 54, 6, brush.lit("#f4f0ea")),
      path("M-42 -38V-10Q0 0 42 -10V-38Z", brush.accent),
      path("M-42 -26Q0 -16 42 -26V-20Q0 -10 -42 -20Z", brush.lit("#d98a6a")),
      path(
        "M-42 -40Q0 -30 42 -40V-32Q38 -24 34 -32Q28 -22 22 -30Q14 -18 8 -29Q0 -18 -8 -29Q-14 -20 -22 -30Q-28 -22 -34 -32Q-38 -24 -42 -32Z",
        brush.main,
      ),
      ellipse(0, -40, 42, 8, brush.light),
      path("M-26 -62V-42Q0 -36 26 -42V-62Z", brush.accent),
      path(
        "M-26 -62Q0 -54 26 -62V-56Q22 -48 18 -55Q12 -46 6 -54Q0 -46 -6 -54Q-12 -46 -18 -55Q-22 -48 -26 -56Z",
        brush.main,
      ),
      ellipse(0, -62, 26, 6, brush.light),
      ...[-12, 0, 12].map(
        (x, i) =>
          rect(
            x - 1.6,
            -80,
            3.2,
            18,
            brush.lit(["#7fb8d8", "#f4d35e", "#b59be8"][i] ?? "#7fb8d8"),
          ) + flame(brush, x, -80, 5),
      ),
      ...[-34, -18, 18, 34].map((x) =>
        circle(x, -42 + Math.abs(x) * 0.04, 4, brush.lit("#d9364a")),
      ),
    ].join(""),
};

const apple: Subject = {
  stands: "table",
  tall: 200,
  aspect: 0.95,
  colors: [
    ["#d63d3a", "#5f9f4a"],
    ["#8fb84a", "#4c8a3c"],
  ],
  draw: (brush) =>
    [
      path(
        "M0 -74C-10 -86 -44 -84 -44 -48C-44 -18 -22 2 -8 0Q0 -3 8 0C22 2 44 -18 44 -48C44 -84 10 -86 0 -74Z",
        brush.body,
      ),
      path(
        "M-32 -62C-28 -72 -18 -74 -12 -72C-22 -66 -27 -56 -27 -44C-33 -44 -35 -54 -32 -62Z",
        "#ffffff",
        { "fill-opacity": 0.4 },
      ),
      stroke("M0 -74Q0 -88 6 -98", brush.lit("#6b4636"), 4),
      path("M4 -84C14 -100 30 -98 36 -92C28 -82 14 -78 4 -84Z", brush.accent),
    ].join(""),
};

const clock: Subject = {
  stands: "table",
  tall: 280,
  aspect: 0.95,
  colors: [["#e2574c", "#fff6e4"]],
  draw: (brush) => {
    const ticks = Array.from({ length: 12 }, (_, i) => {
      const [c, s] = [Math.cos((i * Math.PI) / 6), Math.sin((i * Math.PI) / 6)];
      return `M${c * 27} ${-44 + s * 27}L${c * 31} ${-44 + s * 31}`;
    }).join("");
    return [
      stroke("M-24 -14L-32 0M24 -14L32 0", brush.deep, 6),
      path("M-38 -76A14 14 0 0 1 -16 -86ZM38 -76A14 14 0 0 0 16 -86Z", brush.dark),
      stroke("M0 -84V-94M-8 -95H8", brush.deep, 4),
      circle(0, -44, 42, brush.body),
      circle(0, -44, 35, brush.accent),
      stroke(ticks, brush.lit("#4a3a40"), 2),
      stroke("M0 -44L-12 -56M0 -44L6 -68", brush.lit("#2f2530"), 3),
      stroke("M0 -44L16 -34", brush.main, 1.4),
      circle(0, -44, 2.6, brush.lit("#2f2530")),
    ].join("");
  },
};

export const tableware = { cup, teapot, book, vase, cake, apple, clock } as const;
