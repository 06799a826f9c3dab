/** Cat, dog, fox, rabbit, bear, otter. */
import { tone } from "../color.ts";
import { circle, ellipse, group, path, rect, stroke } from "../svg.ts";
import { type Brush, type Subject, sway } from "./subject.ts";

/** Two round eyes with a highlight, mirrored about `x`. */
export function eyes(brush: Brush, x: number, y: number, apart: number, size: number): string {
  const ink = brush.lit("#231a2e");
  const one = (at: number): string =>
    ellipse(at, y, size * 0.85, size, ink) +
    circle(at - size * 0.28, y - size * 0.35, size * 0.32, "#ffffff", { "fill-opacity": 0.9 });
  return one(x - apart) + one(x + apart);
}

const snout = (brush: Brush, x: number, y: number, size: number, color = "#3a2734"): string =>
  path(
    `M${x - size} ${y - size * 0.6}Q${x} ${y - size} ${x + size} ${y - size * 0.6}Q${x + size * 0.6} ${y + size * 0.5} ${x} ${y + size * 0.7}Q${x - size * 0.6} ${y + size * 0.5} ${x - size} ${y - size * 0.6}Z`,
    brush.lit(color),
  ) +
  stroke(
    `M${x} ${y + size * 0.6}v${size * 0.9}M${x - size * 1.7} ${y + size * 1.2}Q${x - size * 0.8} ${y + size * 2.4} ${x} ${y + size * 1.4}Q${x + size * 0.8} ${y + size * 2.4} ${x + size * 1.7} ${y + size * 1.2}`,
    brush.lit("#3a2734"),
    size * 0.42,
  );

const cat: Subject = {
  stands: "ground",
  tall: 330,
  aspect: 0.9,
  colors: [
    ["#e89b4f", "#fff1dc"],
    ["#6d6a75", "#d9d5da"],
    ["#3d3a4a", "#e8dccd"],
    ["#c9a27e", "#fff4e6"],
  ],
  draw: (brush) => {
    const tail = sway(brush.phase) * 4;
    const stripes = brush.dark;
    return [
      stroke(
        `M16 -7C34 -3 43 -14 ${39 + tail} -30C${36 + tail} -41 ${45 + tail} -47 ${47 + tail} -40`,
        brush.dark,
        7.5,
      ),
      path("M-25 0C-33 -26 -19 -57 0 -58C19 -57 33 -26 25 0Q0 4 -25 0Z", brush.body),
      path("M-11 -50Q0 -42 11 -50Q15 -26 8 -10Q0 -4 -8 -10Q-15 -26 -11 -50Z", brush.accent, {
        "fill-opacity": 0.85,
      }),
      stroke("M-24 -22q7 2 9 6M-23 -32q7 1 10 5M24 -22q-7 2 -9 6M23 -32q-7 1 -10 5", stripes, 2.2),
      path("M-13.5 -20Q-15 -3 -14 0H-2Q-1 -10 -2 -24Q-7 -34 -13.5 -20Z", brush.main),
      path("M13.5 -20Q15 -3 14 0H2Q1 -10 2 -24Q7 -34 13.5 -20Z", brush.main),
      ellipse(-8, -2, 7.5, 4, brush.accent),
      ellipse(8, -2, 7.5, 4, brush.accent),
      path("M-23 -74Q-25 -93 -21 -100Q-10 -95 -4 -87Z", brush.main),
      path("M23 -74Q25 -93 21 -100Q10 -95 4 -87Z", brush.dark),
      path("M-20 -80Q-21 -91 -19 -95Q-13 -92 -9 -87Z", brush.lit("#f0a5a0")),
      path("M20 -80Q21 -91 19 -95Q13 -92 9 -87Z", brush.lit("#e2918f")),
      path(
        "M-26 -68C-26 -84 -13 -90 0 -90C13 -90 26 -84 26 -68C26 -55 12 -50 0 -50C-12 -50 -26 -55 -26 -68Z",
        brush.body,
      ),
      stroke("M0 -88v7M-6 -87l1 6M6 -87l-1 6", stripes, 2.2),
      ellipse(0, -59, 11, 7, brush.accent),
      eyes(brush, 0, -69, 10.5, 4.4),
      snout(brush, 0, -62, 2.4, "#c9606a"),
      stroke(
        "M-13 -60L-31 -63M-13 -57.5L-30 -56M13 -60L31 -63M13 -57.5L30 -56",
        brush.lit("#f7efe6"),
        0.7,
        {
          "stroke-opacity": 0.8,
        },
      ),
    ].join("");
  },
};

const dog: Subject = {
  stands: "ground",
  tall: 340,
  aspect: 0.95,
  colors: [
    ["#c98a4b", "#fff3e0"],
    ["#8a5a3b", "#f1dcc1"],
    ["#e9dcc6", "#8a5f42"],
    ["#55504f", "#e9e1d6"],
  ],
  draw: (brush) =>
    [
      stroke(`M20 -12Q38 -16 ${42 + sway(brush.phase) * 5} -38`, brush.main, 7),
      path("M-24 0C-30 -26 -21 -54 -4 -58H8C24 -50 32 -24 26 0Q0 3 -24 0Z", brush.body),
      path("M-12 -52Q0 -42 12 -52Q13 -30 6 -16Q0 -10 -6 -16Q-14 -30 -12 -52Z", brush.accent),
      path("M-15.5 -24Q-17 -4 -16 0H-3Q-2 -12 -3 -26Q-8 -38 -15.5 -24Z", brush.light),
      path("M15.5 -24Q17 -4 16 0H3Q2 -12 3 -26Q8 -38 15.5 -24Z", brush.main),
      ellipse(-10, -2.4, 8, 4.2, brush.accent),
      ellipse(10, -2.4, 8, 4.2, brush.accent),
      path("M-17 -52Q0 -44 17 -52L15 -46Q0 -39 -15 -46Z", brush.lit("#d8433f")),
      circle(0, -42, 3.4, brush.lit("#f4c64e")),
      path(
        "M-22 -74C-24 -94 -10 -100 0 -100C10 -100 24 -94 22 -74C21 -60 11 -51 0 -51C-11 -51 -21 -60 -22 -74Z",
        brush.body,
      ),
      path("M-3.5 -99Q0 -84 -4 -72Q0 -66 4 -72Q0 -84 3.5 -99Z", brush.accent, {
        "fill-opacity": 0.8,
      }),
      path("M-17 -95C-31 -97 -35 -78 -30 -62C-24 -60 -20 -72 -19 -82Z", brush.dark),
      path("M17 -95C31 -97 35 -78 30 -62C24 -60 20 -72 19 -82Z", brush.deep),
      ellipse(0, -64, 12.5, 10, brush.accent),
      eyes(brush, 0, -77, 9.5, 3.7),
      ellipse(0, -68, 4.6, 3.4, brush.lit("#2f2430")),
      stroke("M0 -65v4M-8 -60Q-4 -55 0 -60Q4 -55 8 -60", brush.lit("#2f2430"), 1.2),
      path("M-3 -58Q0 -47 4 -57.5Z", brush.lit("#ec7c86")),
    ].join(""),
};

const fox: Subject = {
  stands: "ground",
  tall: 310,
  aspect: 1.15,
  colors: [
    ["#e2712d", "#fff4e8"],
    ["#d6602a", "#fbe9d7"],
  ],
  draw: (brush) =>
    [
      group(
        { transform: `rotate(${sway(brush.phase) * 3} 20 -8)` },
        path(
          "M14 -3C40 6 62 -10 55 -38C52 -48 45 -54 41 -58C42 -44 34 -38 26 -26C20 -18 12 -10 14 -3Z",
          brush.body,
        ),
        path("M41 -58C52 -50 59 -40 55 -27C48 -26 42 -33 41 -43Q42 -50 41 -58Z", brush.accent),
      ),
      path("M-20 0C-27 -28 -15 -54 0 -56C15 -54 28 -28 21 0Q0 3 -20 0Z", brush.body),
      path("M-12 -52Q0 -40 12 -52Q14 -28 6 -14Q0 -8 -6 -14Q-14 -28 -12 -52Z", brush.accent),
      path("M-12.5 -22Q-14 -3 -13 0H-2Q-1 -10 -2 -24Q-7 -36 -12.5 -22Z", brush.main),
      path("M12.5 -22Q14 -3 13 0H2Q1 -10 2 -24Q7 -36 12.5 -22Z", brush.main),
      path("M-13.4 -9H-1.8L-2 0H-13Z", brush.lit("#3a2a33")),
      path("M13.4 -9H1.8L2 0H13Z", brush.lit("#3a2a33")),
      path("M-25 -72L-25 -102Q-12 -96 -5 -84Z", brush.dark),
      path("M25 -72L25 -102Q12 -96 5 -84Z", brush.dark),
      path("M-22 -78L-22.5 -95Q-14 -91 -10 -84Z", brush.lit("#3a2a33")),
      path("M22 -78L22.5 -95Q14 -91 10 -84Z", brush.lit("#3a2a33")),
      path(
        "M-34 -64Q-26 -86 0 -87Q26 -86 34 -64Q20 -50 6 -46Q0 -42 -6 -46Q-20 -50 -34 -64Z",
        brush.body,
      ),
      path("M-34 -64Q-20 -50 -6 -46Q0 -42 0 -50Q-6 -66 -18 -65Q-28 -66 -34 -64Z", brush.accent),
      path("M34 -64Q20 -50 6 -46Q0 -42 0 -50Q6 -66 18 -65Q28 -66 34 -64Z", brush.accent),
      eyes(brush, 0, -68, 12, 3.3),
      ellipse(0, -48, 4, 3.2, brush.lit("#2a1f2b")),
    ].join(""),
};

const rabbit: Subject = {
  stands: "ground",
  tall: 280,
  aspect: 0.72,
  colors: [
    ["#efe7df", "#f3b5b0"],
    ["#b59a82", "#eec2b0"],
    ["#8d8790", "#e5b3b3"],
  ],
  draw: (brush) =>
    [
      circle(24, -12, 8, brush.lit("#ffffff")),
      path("M-24 0C-30 -24 -18 -44 0 -45C18 -44 30 -24 24 0Q0 3 -24 0Z", brush.body),
      ellipse(0, -20, 13, 16, brush.light),
      ellipse(-13, -2.5, 11, 4.5, brush.light),
      ellipse(13, -2.5, 11, 4.5, brush.light),
      group(
        { transform: `rotate(${-7 + sway(brush.phase) * 3} -8 -66)` },
        ellipse(-8, -82, 6.5, 19, brush.main),
        ellipse(-8, -81, 3.2, 14, brush.accent),
      ),
      group(
        { transform: `rotate(${9 - sway(brush.phase, 0.2) * 3} 8 -66)` },
        ellipse(8, -82, 6.5, 19, brush.dark),
        ellipse(8, -81, 3.2, 14, brush.accent),
      ),
      ellipse(0, -54, 21, 18, brush.body),
      eyes(brush, 0, -56, 10, 4),
      circle(-14, -48, 3.6, brush.accent, { "fill-opacity": 0.6 }),
      circle(14, -48, 3.6, brush.accent, { "fill-opacity": 0.6 }),
      snout(brush, 0, -49.5, 2.2, "#d9727b"),
      rect(-1.6, -45.4, 3.2, 3.4, "#ffffff", { rx: 0.8 }),
    ].join(""),
};

const bear: Subject = {
  stands: "ground",
  tall: 380,
  aspect: 0.86,
  colors: [
    ["#7d5236", "#d9ad82"],
    ["#5b4335", "#c69c74"],
    ["#f2eee6", "#fffaf2"],
  ],
  draw: (brush) =>
    [
      path("M-34 0C-42 -32 -30 -60 0 -62C30 -60 42 -32 34 0Q0 4 -34 0Z", brush.body),
      ellipse(0, -26, 19, 22, brush.accent, { "fill-opacity": 0.8 }),
      path("M-30 -52C-44 -44 -44 -24 -36 -16C-28 -18 -24 -36 -24 -46Z", brush.dark),
      path("M30 -52C44 -44 44 -24 36 -16C28 -18 24 -36 24 -46Z", brush.deep),
      ellipse(-19, -4.5, 15, 8, brush.main),
      ellipse(19, -4.5, 15, 8, brush.dark),
      ellipse(-19, -4, 8, 4.6, brush.accent),
      ellipse(19, -4, 8, 4.6, brush.accent),
      circle(-20, -93, 9, brush.main),
      circle(20, -93, 9, brush.dark),
      circle(-20, -92, 4.6, brush.accent),
      circle(20, -92, 4.6, brush.accent),
      ellipse(0, -76, 27, 23, brush.body),
      ellipse(0, -68, 13, 10.5, brush.accent),
      eyes(brush, 0, -80, 11, 3.6),
      ellipse(0, -72, 5, 3.5, brush.lit("#2b1f26")),
      stroke("M0 -69v4M-5 -63Q0 -60 5 -63", brush.lit("#2b1f26"), 1.3),
    ].join(""),
};

const otter: Subject = {
  stands: "water",
  tall: 150,
  aspect: 2.3,
  colors: [
    ["#7a5a45", "#dcc3a4"],
    ["#6b5040", "#d0b492"],
  ],
  draw: (brush) => {
    const bob = sway(brush.phase) * 2;
    const ripple = brush.lit("#ffffff");
    return group(
      { transform: `translate(0 ${bob})` },
      // The otter floats on its back with a shell on its belly.
      path("M62 -26C84 -34 104 -50 112 -66C120 -60 106 -20 66 -12Z", brush.dark),
      path("M-62 -18C-50 -50 -10 -62 24 -56C54 -52 76 -34 80 -16C40 2 -30 4 -62 -18Z", brush.body),
      path(
        "M-40 -30C-24 -50 8 -54 30 -48C48 -44 58 -34 60 -26C30 -34 -10 -36 -40 -30Z",
        brush.accent,
        {
          "fill-opacity": 0.9,
        },
      ),
      path("M66 -34C70 -52 84 -56 88 -48C86 -38 78 -28 70 -26Z", brush.deep),
      path("M52 -38C54 -56 68 -62 73 -54C72 -44 64 -34 58 -31Z", brush.dark),
      path("M-22 -48Q-8 -68 6 -62Q2 -50 -10 -44Z", brush.dark),
      path("M22 -50Q12 -70 0 -66Q4 -52 14 -46Z", brush.deep),
      path("M-8 -62Q2 -80 14 -64Q4 -56 -8 -62Z", brush.lit("#f3c7a8")),
      stroke("M-3 -63L2 -74M3 -62L4 -74M8 -63L6 -73", brush.lit("#d59d7d"), 1),
      ellipse(-74, -42, 29, 25, brush.body),
      circle(-92, -62, 6, brush.dark),
      circle(-58, -64, 6, brush.dark),
      path(
        "M-96 -38Q-90 -20 -74 -18Q-58 -20 -53 -38Q-62 -46 -74 -44Q-88 -46 -96 -38Z",
        brush.accent,
      ),
      eyes(brush, -75, -48, 11, 3.6),
      ellipse(-75, -41, 5.4, 3.8, brush.lit("#2b2026")),
      stroke("M-75 -38v4M-82 -33Q-78 -28 -75 -33Q-72 -28 -68 -33", brush.lit("#2b2026"), 1.3),
      stroke(
        "M-64 -35l16 -3M-64 -32l16 2M-86 -35l-16 -3M-86 -32l-16 2",
        tone(brush.accent, 0.08),
        0.8,
      ),
      stroke(`M-118 -6Q-60 8 0 4T118 -4M-96 6Q-40 16 20 12T96 8`, ripple, 2, {
        "stroke-opacity": 0.45,
      }),
    );
  },
};

export const pets = { cat, dog, fox, rabbit, bear, otter } as const;
