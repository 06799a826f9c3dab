/** Sea animals: fish, whale, dolphin, octopus, jellyfish, turtle, crab. */
import { tone } from "../color.ts";
import { circle, ellipse, group, path, stroke } from "../svg.ts";
import { eyes } from "./pets.ts";
import { type Brush, type Subject, sway } from "./subject.ts";

const oneEye = (brush: Brush, x: number, y: number, size: number): string =>
  circle(x, y, size, "#ffffff") +
  circle(x - size * 0.15, y, size * 0.62, brush.lit("#1f1a2b")) +
  circle(x - size * 0.35, y - size * 0.3, size * 0.22, "#ffffff");

const fish: Subject = {
  stands: "undersea",
  tall: 170,
  aspect: 1.6,
  colors: [
    ["#f08a3c", "#fff3df"],
    ["#f2c14e", "#3d7ea6"],
    ["#4fa3c7", "#f6e27a"],
    ["#e0637c", "#ffe2d1"],
  ],
  draw: (brush) => {
    const tail = sway(brush.phase) * 6;
    return [
      path(
        `M36 -50C52 ${-60 + tail} 66 ${-84 + tail} 78 ${-86 + tail}C72 ${-66 + tail} 72 ${-36 + tail} 78 ${-14 + tail}C64 ${-18 + tail} 50 ${-38 + tail} 36 -50Z`,
        brush.dark,
      ),
      path("M-16 -80C-4 -104 24 -102 36 -84C28 -74 8 -72 -16 -80Z", brush.dark),
      path("M-4 -22C4 -2 24 -2 30 -10C28 -22 14 -28 -4 -22Z", brush.dark),
      path("M-76 -50C-60 -88 6 -96 48 -50C6 -6 -60 -14 -76 -50Z", brush.body),
      path("M-34 -79C-24 -60 -24 -38 -34 -21L-22 -18C-12 -38 -12 -62 -22 -83Z", brush.accent),
      path("M12 -76C22 -62 22 -38 12 -23L22 -29C30 -42 30 -58 22 -70Z", brush.accent),
      path(
        `M-10 -44C4 ${-50 + tail * 0.5} 16 ${-40 + tail} 14 ${-28 + tail * 0.5}C2 -28 -8 -34 -10 -44Z`,
        brush.light,
      ),
      oneEye(brush, -52, -57, 7.5),
      stroke("M-74 -44Q-66 -38 -60 -42", brush.deep, 1.8),
    ].join("");
  },
};

const whale: Subject = {
  stands: "water",
  tall: 270,
  aspect: 1.9,
  colors: [
    ["#3f6f9e", "#e6eef2"],
    ["#4c7fae", "#eef3f1"],
  ],
  seat: [-8, -62],
  draw: (brush) => {
    const bob = sway(brush.phase) * 2;
    const tail = sway(brush.phase, 0.25) * 4;
    const water = brush.lit("#ffffff");
    return group(
      { transform: `translate(0 ${bob})` },
      stroke(
        "M-40 -66C-40 -84 -56 -88 -58 -76M-40 -66C-40 -90 -22 -94 -20 -80M-40 -66V-88",
        water,
        3,
        { "stroke-opacity": 0.75 },
      ),
      group(
        { transform: `rotate(${tail} 56 -20)` },
        path(
          "M48 -26C64 -30 74 -46 76 -62C66 -66 60 -76 60 -86C70 -84 78 -78 82 -70C86 -78 92 -82 100 -82C98 -70 92 -62 86 -60C88 -36 74 -4 50 -4Z",
          brush.dark,
        ),
      ),
      path(
        "M-94 -26C-96 -54 -66 -68 -30 -66C10 -66 40 -48 66 -24C60 -6 34 2 0 2C-46 2 -90 -2 -94 -26Z",
        brush.body,
      ),
      path("M-93 -22C-70 -14 -30 -16 10 -4C8 0 4 2 -2 2C-46 2 -88 0 -93 -22Z", brush.accent),
      stroke(
        "M-80 -14Q-50 -8 -26 -1M-66 -17Q-34 -10 -12 -2M-48 -18Q-22 -12 2 -2",
        tone(brush.accent, -0.15),
        1.2,
      ),
      path("M-30 -16C-22 -8 -10 8 6 6C4 -8 -6 -18 -16 -22Z", brush.dark),
      stroke("M-93 -24Q-76 -16 -62 -20", brush.deep, 1.6),
      circle(-60, -29, 3.4, brush.lit("#1b1c2e")),
      circle(-61, -30, 1.1, "#ffffff"),
      stroke("M-112 2Q-60 10 -10 4T108 2M-90 10Q-30 17 30 10T92 10", water, 2.4, {
        "stroke-opacity": 0.5,
      }),
    );
  },
};

const dolphin: Subject = {
  stands: "water",
  tall: 260,
  aspect: 1.35,
  colors: [["#6b93b0", "#eef3f2"]],
  seat: [6, -80],
  draw: (brush) =>
    group(
      { transform: `rotate(${sway(brush.phase) * 4})` },
      path(
        "M46 -26C60 -26 70 -18 74 -6C64 -8 56 -8 50 -12C48 -4 42 2 34 4C34 -8 38 -18 46 -26Z",
        brush.deep,
      ),
      path("M6 -90C8 -104 18 -110 28 -108C24 -100 26 -90 28 -80Z", brush.dark),
      path(
        "M-64 -50C-62 -58 -54 -62 -48 -66C-40 -84 -12 -98 14 -88C40 -78 52 -50 50 -20C42 -20 38 -24 34 -30C16 -52 -14 -58 -40 -48C-48 -46 -58 -46 -64 -50Z",
        brush.body,
      ),
      path(
        "M-62 -50C-54 -56 -30 -62 -8 -58C12 -54 26 -44 34 -30C16 -52 -14 -58 -40 -48C-48 -46 -58 -46 -62 -50Z",
        brush.accent,
      ),
      path("M-18 -60C-16 -48 -10 -38 -2 -34C2 -44 0 -54 -6 -60Z", brush.dark),
      circle(-38, -64, 2.6, brush.lit("#1b1c2e")),
      stroke("M-60 2Q-30 -6 0 0T64 -2M-40 8Q0 2 44 8", brush.lit("#ffffff"), 2.6, {
        "stroke-opacity": 0.6,
      }),
      circle(48, -2, 3, brush.lit("#ffffff"), { "fill-opacity": 0.7 }),
      circle(30, -8, 2, brush.lit("#ffffff"), { "fill-opacity": 0.7 }),
    ),
};

const octopus: Subject = {
  stands: "undersea",
  tall: 280,
  aspect: 1.15,
  colors: [
    ["#d9627a", "#f7b9b4"],
    ["#8d5fb0", "#d9b8e8"],
  ],
  draw: (brush) => {
    const arms = [-46, -30, -14, 14, 30, 46].map((x, i) => {
      const wave = sway(brush.phase, i / 6) * 4;
      const side = Math.sign(x);
      return stroke(
        `M${x * 0.5} -40C${x * 0.7} -22 ${x * 1.1 + wave} -18 ${x} -6C${x - side * 2 + wave} 2 ${x + side * 8} 4 ${x + side * 10 + wave} -4`,
        i % 2 === 0 ? brush.dark : brush.main,
        9,
      );
    });
    return [
      ...arms,
      path(
        "M-34 -58C-36 -88 -18 -100 0 -100C18 -100 36 -88 34 -58C34 -44 28 -34 20 -30H-20C-28 -34 -34 -44 -34 -58Z",
        brush.body,
      ),
      circle(18, -82, 4, brush.accent, { "fill-opacity": 0.7 }),
      circle(24, -72, 2.6, brush.accent, { "fill-opacity": 0.7 }),
      circle(10, -90, 2.4, brush.accent, { "fill-opacity": 0.7 }),
      eyes(brush, 0, -56, 12, 5.4),
      stroke("M-6 -43Q0 -38 6 -43", brush.deep, 1.8),
      ellipse(-20, -46, 5, 3, brush.accent, { "fill-opacity": 0.8 }),
      ellipse(20, -46, 5, 3, brush.accent, { "fill-opacity": 0.8 }),
    ].join("");
  },
};

const jellyfish: Subject = {
  stands: "undersea",
  tall: 280,
  aspect: 0.7,
  colors: [
    ["#b58be0", "#f4c6ea"],
    ["#7fc8d8", "#e8f7f0"],
    ["#f2a0b5", "#ffe3d8"],
  ],
  draw: (brush) => {
    const threads = [-22, -14, -6, 2, 10, 18].map((x, i) => {
      const wave = sway(brush.phase, i / 5) * 6;
      return stroke(
        `M${x} -58C${x + 6 + wave} -42 ${x - 8 - wave} -28 ${x + wave} -${4 + (i % 3) * 8}`,
        i % 2 ? brush.accent : brush.light,
        i % 2 ? 2 : 3.6,
        { "stroke-opacity": 0.75 },
      );
    });
    return [
      ...threads,
      path(
        "M-32 -58C-34 -88 -14 -100 0 -100C14 -100 34 -88 32 -58Q26 -52 20 -58Q14 -52 8 -58Q0 -51 -8 -58Q-14 -52 -20 -58Q-26 -52 -32 -58Z",
        brush.body,
        { "fill-opacity": 0.88 },
      ),
      path("M-22 -66C-24 -84 -12 -93 -2 -94C-12 -88 -16 -78 -14 -64Z", "#ffffff", {
        "fill-opacity": 0.35,
      }),
      ellipse(6, -70, 8, 6, brush.accent, { "fill-opacity": 0.5 }),
    ].join("");
  },
};

const turtle: Subject = {
  stands: "ground",
  tall: 190,
  aspect: 1.6,
  colors: [["#6a9a58", "#b98a4f"]],
  seat: [8, -82],
  draw: (brush) =>
    [
      path("M-40 -24C-44 -6 -40 0 -30 0H-18V-20Z", brush.dark),
      path("M44 -24C48 -6 46 0 36 0H24V-20Z", brush.dark),
      path("M58 -22L80 -14L60 -12Z", brush.dark),
      path(
        "M-44 -30C-58 -34 -60 -50 -54 -58C-60 -72 -84 -72 -86 -54C-86 -42 -76 -36 -66 -36C-60 -26 -52 -18 -42 -16Z",
        brush.body,
      ),
      path(
        "M-56 -20C-56 -64 -20 -86 10 -86C44 -86 68 -56 68 -20Q6 -6 -56 -20Z",
        brush.defs.linear([
          [0, tone(brush.accent, 0.08)],
          [0.6, brush.accent],
          [1, tone(brush.accent, -0.12)],
        ]),
      ),
      stroke(
        "M-18 -26L-24 -54L0 -70L28 -64L40 -40L30 -22M-24 -54L-42 -58M0 -70L0 -86M28 -64L42 -74M40 -40L62 -42M-18 -26L30 -22",
        tone(brush.accent, -0.2),
        2.6,
      ),
      path(
        "M-58 -22Q6 -6 70 -22Q72 -12 62 -11Q6 0 -50 -11Q-60 -13 -58 -22Z",
        tone(brush.accent, 0.1),
      ),
      circle(-74, -57, 3, brush.lit("#201a28")),
      circle(-75, -58, 1, "#ffffff"),
      stroke("M-84 -48Q-78 -43 -72 -46", brush.deep, 1.5),
    ].join(""),
};

const crab: Subject = {
  stands: "ground",
  tall: 150,
  aspect: 1.8,
  colors: [["#e0533d", "#ffd9b8"]],
  draw: (brush) => {
    const claw = (s: 1 | -1): string =>
      group(
        { transform: `rotate(${s * sway(brush.phase) * 6} ${s * 50} -40)` },
        stroke(`M${s * 40} -36Q${s * 64} -40 ${s * 62} -60`, brush.dark, 8),
        path(
          `M${s * 52} -60C${s * 42} -84 ${s * 58} -100 ${s * 66} -98C${s * 60} -88 ${s * 64} -80 ${s * 68} -78C${s * 72} -86 ${s * 80} -90 ${s * 84} -88C${s * 90} -70 ${s * 74} -54 ${s * 62} -54Z`,
          brush.body,
        ),
      );
    return [
      stroke(
        "M-34 -16L-62 -12L-70 0M-30 -10L-50 -2L-54 4M34 -16L62 -12L70 0M30 -10L50 -2L54 4",
        brush.dark,
        5,
      ),
      claw(-1),
      claw(1),
      path("M-48 -32C-44 -56 44 -56 48 -32C48 -10 26 -2 0 -2C-26 -2 -48 -10 -48 -32Z", brush.body),
      stroke("M-14 -48V-62M14 -48V-62", brush.dark, 4),
      oneEye(brush, -14, -66, 7),
      oneEye(brush, 14, -66, 7),
      stroke("M-12 -22Q0 -12 12 -22", brush.deep, 2.2),
      circle(-26, -26, 4, brush.accent, { "fill-opacity": 0.5 }),
      circle(26, -26, 4, brush.accent, { "fill-opacity": 0.5 }),
    ].join("");
  },
};

export const seaLife = { fish, whale, dolphin, octopus, jellyfish, turtle, crab } as const;
