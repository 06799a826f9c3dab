/** Aircraft: hot air balloon, toy balloon, rocket, plane, kite, saucer, satellite. */
import { tone } from "../color.ts";
import { circle, curve, ellipse, group, path, rect, stroke } from "../svg.ts";
import { type Subject, sway } from "./subject.ts";

const balloon: Subject = {
  stands: "air",
  tall: 360,
  aspect: 0.68,
  colors: [
    ["#e2574c", "#f9d88c"],
    ["#3d8fa3", "#f6e3b4"],
    ["#f0a23c", "#e2574c"],
    ["#7d5ba6", "#f3b8c4"],
  ],
  seat: [0, -14],
  draw: (brush) => {
    const globe =
      "M0 -100C-26 -100 -35 -82 -34 -66C-32 -46 -14 -34 -8 -24H8C14 -34 32 -46 34 -66C35 -82 26 -100 0 -100Z";
    return group(
      { transform: `translate(0 ${sway(brush.phase) * 2.4})` },
      stroke("M-7 -24L-5 -13M7 -24L5 -13M-2 -24L-2 -13M2 -24L2 -13", brush.lit("#6b4a38"), 0.7),
      path(globe, brush.body),
      path(
        "M0 -100C-16 -98 -22 -82 -21 -66C-20 -46 -8 -34 -5 -24H-1C-3 -34 -9 -48 -9 -66C-9 -84 -6 -97 0 -100Z",
        brush.accent,
      ),
      path(
        "M0 -100C16 -98 22 -82 21 -66C20 -46 8 -34 5 -24H1C3 -34 9 -48 9 -66C9 -84 6 -97 0 -100Z",
        brush.accent,
      ),
      path(
        "M0 -100C26 -100 35 -82 34 -66C32 -46 14 -34 8 -24H5C14 -40 24 -52 24 -68C24 -84 14 -98 0 -100Z",
        brush.deep,
        { "fill-opacity": 0.28 },
      ),
      path(
        "M-27 -80C-25 -90 -17 -95 -12 -96C-18 -90 -22 -82 -23 -72C-26 -72 -28 -76 -27 -80Z",
        "#ffffff",
        { "fill-opacity": 0.35 },
      ),
      path("M-8 -25H8L6.5 -21H-6.5Z", brush.dark),
      rect(-7, -13, 14, 12, brush.lit("#9a6a42"), { rx: 2.4 }),
      stroke("M-7 -9H7M-7 -5H7", brush.lit("#6e472c"), 0.9),
      rect(-8, -14.4, 16, 3, brush.lit("#b98450"), { rx: 1.4 }),
      circle(-2.4, -17.6, 2, brush.lit("#4a3340")),
      circle(3, -17, 1.8, brush.lit("#7a4f3c")),
    );
  },
};

const toyBalloon: Subject = {
  stands: "air",
  tall: 260,
  aspect: 0.5,
  colors: [
    ["#e5484d", "#ffffff"],
    ["#f2b63c", "#ffffff"],
    ["#4a9fd8", "#ffffff"],
    ["#9b6fd0", "#ffffff"],
    ["#5fb87a", "#ffffff"],
  ],
  draw: (brush) => {
    const swing = sway(brush.phase) * 3;
    return group(
      { transform: `rotate(${swing} 0 -46)` },
      stroke(
        curve([
          [0, -46],
          [3, -34],
          [-3, -22],
          [2 - swing, -10],
          [-1 - swing, 0],
        ]),
        brush.lit("#f4efe8"),
        0.9,
      ),
      path(
        "M0 -100C-19 -100 -25 -86 -24 -76C-22 -60 -8 -52 -2 -48L-4 -44H4L2 -48C8 -52 22 -60 24 -76C25 -86 19 -100 0 -100Z",
        brush.body,
      ),
      path(
        "M-17 -80C-16 -90 -10 -94 -6 -95C-11 -89 -13 -84 -13 -76C-16 -75 -17 -77 -17 -80Z",
        "#ffffff",
        { "fill-opacity": 0.5 },
      ),
    );
  },
};

const rocket: Subject = {
  stands: "air",
  tall: 420,
  aspect: 0.5,
  colors: [
    ["#f2efe9", "#e2493f"],
    ["#dfe6ee", "#f08a3c"],
  ],
  draw: (brush) => {
    const burn = 1 + 0.14 * sway(brush.phase * 2);
    const side = brush.defs.linear(
      [
        [0, brush.light],
        [0.45, brush.main],
        [1, brush.dark],
      ],
      [0, 0, 1, 0],
    );
    const red = brush.defs.linear(
      [
        [0, tone(brush.accent, 0.06)],
        [1, tone(brush.accent, -0.12)],
      ],
      [0, 0, 1, 0],
    );
    return [
      group(
        { transform: `translate(0 -26) scale(1 ${burn})` },
        path("M-9 0C-14 12 -6 18 0 30C6 18 14 12 9 0Z", "#f7802b"),
        path("M-6 0C-8 9 -3 13 0 20C3 13 8 9 6 0Z", "#ffd257"),
        path("M-3 0C-4 5 -1 8 0 12C1 8 4 5 3 0Z", "#fff8dc"),
      ),
      path("M-12 -48C-24 -42 -26 -28 -24 -18L-11 -30ZM12 -48C24 -42 26 -28 24 -18L11 -30Z", red),
      path(
        "M0 -100C-12 -88 -16 -70 -15 -54C-15 -42 -12 -32 -10 -27H10C12 -32 15 -42 15 -54C16 -70 12 -88 0 -100Z",
        side,
      ),
      path("M0 -100C-7 -93 -11 -86 -13 -78Q0 -74 13 -78C11 -86 7 -93 0 -100Z", red),
      path("M-3 -46Q0 -48 3 -46L2.4 -20Q0 -16 -2.4 -20Z", red),
      path("M-11 -30H11L9 -25H-9Z", brush.lit("#5b6070")),
      circle(0, -64, 7.4, brush.lit("#5b6070")),
      circle(0, -64, 5.6, brush.lit("#8fd0e8")),
      path("M-4 -66A5.6 5.6 0 0 1 2 -69", "none", {
        stroke: "#ffffff",
        "stroke-width": 1.4,
        "stroke-linecap": "round",
      }),
    ].join("");
  },
};

const plane: Subject = {
  stands: "air",
  tall: 170,
  aspect: 2,
  colors: [
    ["#f1eee8", "#d9483f"],
    ["#e2574c", "#f6e7c8"],
    ["#f2b63c", "#3f6f8e"],
  ],
  draw: (brush) =>
    group(
      { transform: `translate(0 ${sway(brush.phase) * 2}) rotate(-4)` },
      path("M60 -58L86 -96H98L90 -52Z", brush.accent),
      path("M6 -66L40 -92H52L36 -62Z", brush.dark),
      path(
        "M-92 -50C-88 -68 -62 -72 -30 -72H40C70 -72 92 -60 98 -52C90 -44 70 -36 40 -34H-50C-74 -34 -90 -38 -92 -50Z",
        brush.body,
      ),
      path(
        "M-91 -46C-60 -42 60 -46 96 -50C88 -44 70 -36 40 -34H-50C-74 -34 -88 -37 -91 -46Z",
        brush.accent,
      ),
      path("M-78 -66C-74 -76 -62 -80 -50 -78L-46 -70H-70Z", brush.lit("#9fc6d8")),
      ...[-34, -18, -2, 14, 30, 46].map((x) =>
        circle(x, -60, 4, brush.night ? "#ffe2a0" : brush.lit("#8fb8cc")),
      ),
      path("M-20 -48L26 -4H44L30 -46Z", brush.deep),
      path("M-20 -49L30 -8H40L28 -47Z", brush.main),
      ellipse(-96, -50, 3, 4, brush.lit("#4a4650")),
      ellipse(-99, -50, 1.6, 22 + sway(brush.phase * 3) * 4, brush.lit("#c9c4bf"), {
        "fill-opacity": 0.7,
      }),
    ),
};

const kite: Subject = {
  stands: "air",
  tall: 300,
  aspect: 0.75,
  colors: [
    ["#e2574c", "#f6c453"],
    ["#4a9fc8", "#f4e6b8"],
  ],
  draw: (brush) => {
    const tail = curve(
      Array.from(
        { length: 7 },
        (_, i) => [6 + Math.sin(i * 1.3 + brush.phase * Math.PI * 2) * 6, -44 + i * 7.4] as const,
      ),
    );
    return [
      stroke(tail, brush.lit("#f2ece2"), 1),
      ...[1, 2, 3, 4].map((i) =>
        path("M0 0L-6 -3L-6 3ZM0 0L6 -3L6 3Z", i % 2 ? brush.accent : brush.main, {
          transform: `translate(${6 + Math.sin(i * 1.3 + brush.phase * 6.283) * 6} ${-44 + i * 7.4}) rotate(${i * 20})`,
        }),
      ),
      path("M0 -100L28 -74L6 -44L-24 -76Z", brush.main),
      path("M0 -100L28 -74L2 -74ZM6 -44L-24 -76L2 -74Z", brush.accent),
      stroke("M0 -100L6 -44M-24 -76L28 -74", brush.lit("#6b4a38"), 1.1),
    ].join("");
  },
};

const saucer: Subject = {
  stands: "air",
  tall: 180,
  aspect: 1.8,
  colors: [["#aab4c8", "#7df0c8"]],
  draw: (brush) =>
    group(
      { transform: `translate(0 ${sway(brush.phase) * 3})` },
      path(
        "M-40 -38L-74 60H74L40 -38Z",
        brush.defs.linear([
          [0, "#d8ffe8", 0.5],
          [1, "#d8ffe8", 0],
        ]),
      ),
      path("M-38 -66C-36 -92 -18 -100 0 -100C18 -100 36 -92 38 -66Z", brush.lit("#bfe9f2"), {
        "fill-opacity": 0.85,
      }),
      ellipse(0, -74, 9, 12, brush.lit("#7fcf7a")),
      circle(-3.4, -78, 2.2, brush.lit("#1f2a22")),
      circle(3.4, -78, 2.2, brush.lit("#1f2a22")),
      path(
        "M-90 -50C-70 -70 -40 -74 0 -74C40 -74 70 -70 90 -50C70 -34 40 -28 0 -28C-40 -28 -70 -34 -90 -50Z",
        brush.body,
      ),
      path(
        "M-90 -50C-60 -42 60 -42 90 -50C70 -34 40 -28 0 -28C-40 -28 -70 -34 -90 -50Z",
        brush.deep,
      ),
      ...[-60, -36, -12, 12, 36, 60].map((x, i) =>
        circle(
          x,
          -44 + Math.abs(x) * -0.04,
          5,
          (i + Math.floor(brush.phase * 6)) % 2 ? "#fff2a8" : brush.accent,
        ),
      ),
    ),
};

const satellite: Subject = {
  stands: "air",
  tall: 200,
  aspect: 2,
  colors: [["#cfd4dc", "#3f6fb0"]],
  draw: (brush) =>
    group(
      { transform: "rotate(-18 0 -50)" },
      ...[-1, 1].map(
        (s) =>
          rect(s < 0 ? -92 : 32, -66, 60, 34, brush.accent, { rx: 2 }) +
          stroke(
            `M${s * 47} -66V-32M${s * 62} -66V-32M${s * 77} -66V-32M${s * 32} -49H${s * 92}`,
            brush.lit("#9cc4ee"),
            1,
          ),
      ),
      stroke("M-32 -49H32", brush.dark, 4),
      rect(-18, -70, 36, 42, brush.body, { rx: 4 }),
      rect(-18, -56, 36, 6, brush.lit("#e8b64a")),
      path("M-14 -76Q0 -98 14 -76Z", brush.main),
      stroke("M0 -84V-98", brush.dark, 1.6),
      circle(0, -99, 2.4, brush.lit("#e2493f")),
    ),
};

export const aircraft = { balloon, toyBalloon, rocket, plane, kite, saucer, satellite } as const;
