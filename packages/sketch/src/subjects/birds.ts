/** Birds: one in flight, and owl, duck, penguin, flamingo, rooster. */
import { mix } from "../color.ts";
import { circle, ellipse, group, path, stroke } from "../svg.ts";
import { eyes } from "./pets.ts";
import { type Subject, sway } from "./subject.ts";

const bird: Subject = {
  stands: "air",
  tall: 130,
  aspect: 1.5,
  colors: [
    ["#3f7fb5", "#f4a259"],
    ["#d9574f", "#ffe0b5"],
    ["#f0b93a", "#5a4a3f"],
    ["#f5f1e8", "#8793a8"],
  ],
  draw: (brush) => {
    const flap = sway(brush.phase) * 14;
    return [
      path(`M-4 -52C-6 -80 14 ${-98 - flap} 34 ${-100 - flap}C30 -84 26 -66 16 -50Z`, brush.deep),
      path("M20 -48L62 -34L46 -50L66 -56L22 -60Z", brush.dark),
      path(
        "M-52 -60C-46 -74 -30 -74 -20 -66C0 -64 22 -60 34 -52C20 -34 -12 -30 -30 -42C-40 -46 -48 -52 -52 -60Z",
        brush.body,
      ),
      path(
        "M-44 -54C-34 -44 -10 -32 14 -40C0 -30 -22 -30 -34 -42C-40 -46 -42 -50 -44 -54Z",
        brush.accent,
      ),
      path(
        `M-14 -56C-14 ${-80 - flap * 0.6} -34 ${-96 - flap} -52 ${-96 - flap}C-48 ${-76 - flap * 0.5} -30 -52 2 -48Z`,
        brush.dark,
      ),
      stroke(
        `M-20 -58Q-26 ${-76 - flap * 0.6} -44 ${-90 - flap}M-14 -56Q-18 ${-68 - flap * 0.4} -36 ${-76 - flap * 0.8}`,
        brush.main,
        2,
      ),
      path("M-51 -62L-66 -57L-50 -55Z", brush.lit("#f0a030")),
      circle(-41, -63, 3, brush.lit("#22192a")),
      circle(-42, -64, 1, "#ffffff"),
    ].join("");
  },
};

const owl: Subject = {
  stands: "ground",
  tall: 320,
  aspect: 0.72,
  colors: [
    ["#8b6b52", "#f0ddc0"],
    ["#6f7484", "#e3e4ea"],
    ["#a8794f", "#f6e3c4"],
  ],
  draw: (brush) => {
    const gold = brush.lit("#f7b733");
    const chest = Array.from({ length: 9 }, (_, i) => {
      const [x, y] = [-11 + (i % 3) * 11, -44 + Math.floor(i / 3) * 10];
      return `M${x - 4} ${y}Q${x} ${y + 6} ${x + 4} ${y}`;
    }).join("");
    const eye = (x: number): string =>
      circle(x, -70, 12.5, brush.accent) +
      circle(x, -70, 8.6, gold) +
      circle(x, -70, 5.4, brush.lit("#1f1826")) +
      circle(x - 2, -72.4, 1.9, "#ffffff");
    return [
      path(
        "M-27 -70C-30 -84 -30 -94 -27 -100C-18 -92 -8 -90 0 -90C8 -90 18 -92 27 -100C30 -94 30 -84 27 -70Z",
        brush.dark,
      ),
      path(
        "M-28 -68C-32 -88 -14 -93 0 -93C14 -93 32 -88 28 -68C34 -42 28 -6 0 -4C-28 -6 -34 -42 -28 -68Z",
        brush.body,
      ),
      path("M-18 -52Q0 -60 18 -52C20 -32 14 -14 0 -10C-14 -14 -20 -32 -18 -52Z", brush.accent),
      stroke(chest, brush.main, 2),
      path("M-29 -58C-42 -40 -36 -16 -22 -8C-22 -26 -22 -44 -29 -58Z", brush.dark),
      path("M29 -58C42 -40 36 -16 22 -8C22 -26 22 -44 29 -58Z", brush.deep),
      eye(-12),
      eye(12),
      path("M-4 -66L4 -66L0 -57Z", brush.lit("#e08a2c")),
      stroke("M-12 -3v3M-8 -3v3M-4 -3v3M4 -3v3M8 -3v3M12 -3v3", brush.lit("#e08a2c"), 2.6),
    ].join("");
  },
};

const duck: Subject = {
  stands: "water",
  tall: 190,
  aspect: 1.3,
  colors: [
    ["#f6cf4e", "#f08a3c"],
    ["#f4f1ea", "#f2a03d"],
    ["#a98663", "#f0b04a"],
  ],
  draw: (brush) =>
    group(
      { transform: `translate(0 ${sway(brush.phase) * 2.5})` },
      path(
        "M-46 -64C-48 -86 -34 -100 -20 -100C-4 -100 6 -88 4 -72C2 -60 0 -56 8 -48C30 -40 46 -42 58 -56C64 -44 64 -34 56 -22C34 6 -34 0 -42 -30C-44 -40 -34 -44 -38 -50C-42 -54 -45 -58 -46 -64Z",
        brush.body,
      ),
      path("M-8 -34C8 -48 36 -44 46 -32C40 -14 10 -10 -2 -20Z", brush.dark),
      stroke("M6 -20Q24 -18 36 -26M10 -28Q24 -26 38 -32", brush.main, 2),
      path("M-44 -76C-58 -78 -66 -72 -66 -68C-60 -64 -50 -62 -42 -64Z", brush.accent),
      circle(-27, -80, 4, brush.lit("#221a28")),
      circle(-28.4, -81.5, 1.4, "#ffffff"),
      stroke("M-60 -3Q-20 8 20 4T70 0M-40 8Q0 14 46 9", brush.lit("#ffffff"), 2, {
        "stroke-opacity": 0.5,
      }),
    ),
};

const penguin: Subject = {
  stands: "ground",
  tall: 300,
  aspect: 0.66,
  colors: [["#2f3a52", "#f7a53b"]],
  draw: (brush) =>
    [
      ellipse(-11, -2, 11, 4, brush.accent),
      ellipse(11, -2, 11, 4, brush.accent),
      group(
        { transform: `rotate(${sway(brush.phase) * 8} -24 -60)` },
        path("M-24 -64C-38 -50 -40 -30 -34 -20C-26 -26 -22 -40 -22 -52Z", brush.dark),
      ),
      group(
        { transform: `rotate(${-sway(brush.phase) * 8} 24 -60)` },
        path("M24 -64C38 -50 40 -30 34 -20C26 -26 22 -40 22 -52Z", brush.deep),
      ),
      path(
        "M0 -100C20 -100 25 -84 25 -68C34 -40 30 -4 0 -2C-30 -4 -34 -40 -25 -68C-25 -84 -20 -100 0 -100Z",
        brush.body,
      ),
      path(
        "M0 -72C8 -78 18 -76 18 -66C24 -42 20 -10 0 -8C-20 -10 -24 -42 -18 -66C-18 -76 -8 -78 0 -72Z",
        brush.lit("#fbf7f0"),
      ),
      path(
        "M0 -70C8 -92 20 -84 17 -72C14 -62 4 -62 0 -66C-4 -62 -14 -62 -17 -72C-20 -84 -8 -92 0 -70Z",
        brush.lit("#fbf7f0"),
      ),
      eyes(brush, 0, -78, 8.5, 3.1),
      path("M-6 -71Q0 -75 6 -71Q2 -63 0 -63Q-2 -63 -6 -71Z", brush.accent),
      path("M-22 -63Q0 -54 22 -63L23 -57Q0 -48 -23 -57Z", brush.lit("#d9483f")),
      path("M10 -56L18 -57L21 -38L12 -38Z", brush.lit("#c23a34")),
    ].join(""),
};

const flamingo: Subject = {
  stands: "ground",
  tall: 380,
  aspect: 0.75,
  colors: [["#f28ba0", "#e25d7e"]],
  draw: (brush) =>
    [
      stroke("M6 -44L4 -22L6 0M14 -44L20 -26L8 -22", brush.accent, 2.4),
      stroke("M6 0h-7", brush.accent, 2.4),
      stroke(
        "M-12 -54C-30 -60 -28 -78 -16 -82C-4 -86 -6 -98 -16 -97C-22 -97 -26 -94 -27 -90",
        brush.main,
        7,
      ),
      path("M-30 -93C-38 -90 -40 -84 -38 -78C-34 -80 -29 -84 -27 -87Z", brush.lit("#fff1e6")),
      path("M-37 -84C-39 -82 -39 -79 -38 -77C-35 -79 -33 -81 -32 -83Z", brush.lit("#2b2029")),
      circle(-21, -94, 1.4, brush.lit("#2b2029")),
      path(
        "M-16 -56C-12 -72 22 -74 38 -54C34 -38 4 -34 -10 -44C-14 -48 -16 -52 -16 -56Z",
        brush.body,
      ),
      path("M-4 -56C8 -66 30 -62 38 -54C34 -44 12 -42 2 -46Z", brush.accent),
      stroke("M10 -54Q22 -56 34 -52M8 -49Q20 -49 30 -47", brush.light, 1.4),
    ].join(""),
};

const rooster: Subject = {
  stands: "ground",
  tall: 260,
  aspect: 1,
  colors: [["#c8642f", "#2f6b5e"]],
  draw: (brush) => {
    const red = brush.lit("#d93a36");
    return [
      path("M18 -46C22 -76 40 -88 48 -70C54 -56 48 -40 34 -30Z", brush.accent),
      path(
        "M20 -44C30 -64 44 -66 46 -52C46 -42 38 -34 28 -30Z",
        mix(brush.accent, brush.deep, 0.4),
      ),
      stroke("M-4 -16V-2M8 -16V-2M-9 0h8M3 0h8", brush.lit("#e8a33a"), 2.6),
      path(
        "M-26 -84C-12 -90 -6 -80 -4 -66C4 -54 20 -56 30 -46C34 -24 10 -10 -6 -14C-26 -20 -30 -48 -26 -84Z",
        brush.body,
      ),
      path("M-2 -44C10 -48 22 -42 24 -34C14 -24 0 -24 -6 -32Z", brush.dark),
      path(
        "M-27 -86C-30 -96 -24 -98 -22 -93C-21 -100 -14 -100 -14 -93C-11 -98 -6 -95 -8 -86Z",
        red,
      ),
      path("M-28 -80L-38 -76L-27 -73Z", brush.lit("#f2b03c")),
      path("M-27 -73Q-33 -64 -27 -62Q-22 -66 -23 -73Z", red),
      circle(-20, -81, 2.2, brush.lit("#221a28")),
    ].join("");
  },
};

export const birds = { bird, owl, duck, penguin, flamingo, rooster } as const;
