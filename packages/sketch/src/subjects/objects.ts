/** Objects: umbrella, guitar, violin, gift, bench, camera, ice cream. */
import { tone } from "../color.ts";
import { circle, ellipse, group, path, rect, stroke } from "../svg.ts";
import { type Subject, shadow } from "./subject.ts";

const umbrella: Subject = {
  stands: "ground",
  tall: 320,
  aspect: 1,
  colors: [
    ["#e2493f", "#f6efe2"],
    ["#f2b63c", "#3f6f8e"],
  ],
  draw: (brush) =>
    [
      stroke("M0 -94V-10Q0 0 -7 0Q-13 0 -13 -7", brush.lit("#6b4636"), 3),
      path(
        "M-48 -50C-46 -82 -20 -94 0 -94C20 -94 46 -82 48 -50Q40 -58 32 -50Q24 -58 16 -50Q8 -58 0 -50Q-8 -58 -16 -50Q-24 -58 -32 -50Q-40 -58 -48 -50Z",
        brush.body,
      ),
      path(
        "M0 -94C-10 -84 -16 -68 -16 -50Q-24 -58 -32 -50C-30 -72 -16 -88 0 -94ZM0 -94C10 -84 16 -68 16 -50Q8 -58 0 -50ZM0 -94C20 -90 40 -74 48 -50Q40 -58 32 -50C30 -70 16 -88 0 -94Z",
        brush.accent,
        { "fill-opacity": 0.35 },
      ),
      stroke("M0 -94V-100", brush.lit("#6b4636"), 2.4),
    ].join(""),
};

const guitar: Subject = {
  stands: "ground",
  tall: 380,
  aspect: 0.45,
  colors: [["#d08a44", "#5a3626"]],
  draw: (brush) =>
    group(
      { transform: "rotate(9)" },
      rect(-3, -88, 6, 52, brush.accent),
      path("M-5 -100H5L4 -86H-4Z", brush.lit("#3a2620")),
      ...[-97, -93, -89].map(
        (y) =>
          circle(-6.5, y, 1.3, brush.lit("#e8dcc0")) + circle(6.5, y, 1.3, brush.lit("#e8dcc0")),
      ),
      path(
        "M0 -50C10 -52 17 -46 15 -38C14 -32 20 -28 21 -18C22 -6 12 0 0 0C-12 0 -22 -6 -21 -18C-20 -28 -14 -32 -15 -38C-17 -46 -10 -52 0 -50Z",
        brush.body,
      ),
      circle(0, -30, 6.5, brush.lit("#3a2620")),
      circle(0, -30, 7.6, "none", { stroke: brush.lit("#f2dcae"), "stroke-width": 0.9 }),
      rect(-8, -13, 16, 3, brush.lit("#3a2620"), { rx: 1 }),
      stroke("M-1.800 -88V-12M0 -88V-12M1.800 -88V-12", brush.lit("#f6eeda"), 0.35),
      stroke("M-3 -80H3M-3 -72H3M-3 -64H3M-3 -56H3M-3 -48H3", brush.lit("#c9b48a"), 0.6),
    ),
};

const violin: Subject = {
  stands: "ground",
  tall: 360,
  aspect: 0.5,
  colors: [["#b5562a", "#2e2220"]],
  draw: (brush) =>
    group(
      {},
      group(
        { transform: "rotate(8)" },
        path("M-2.400 -90H2.400L3 -44H-3Z", brush.accent),
        path(
          "M-3 -88C-5 -94 -2 -100 2 -99C6 -98 5 -92 1.500 -93C4 -90 3 -88 3 -86H-3Z",
          brush.dark,
        ),
        stroke("M-7 -92H-3M-7 -88H-3M3 -90H7M3 -86H7", brush.accent, 1.6),
        // Two bouts and a waist with corners distinguish a violin from a guitar.
        path(
          "M0 -54C9 -55 15 -50 14.500 -44C14 -40 12 -38 14.500 -36C10 -34 9.500 -27 14 -24C17 -22 19 -18 18.500 -12C18 -4 10 0 0 0C-10 0 -18 -4 -18.500 -12C-19 -18 -17 -22 -14 -24C-9.500 -27 -10 -34 -14.500 -36C-12 -38 -14 -40 -14.500 -44C-15 -50 -9 -55 0 -54Z",
          brush.body,
          { stroke: brush.deep, "stroke-width": 1.4 },
        ),
        stroke(
          "M-5.500 -34C-8.500 -35 -8 -31 -7 -28C-6 -25 -6 -22 -8.500 -22M5.500 -34C8.500 -35 8 -31 7 -28C6 -25 6 -22 8.500 -22",
          brush.accent,
          1.2,
        ),
        path("M-2.600 -54H2.600L3 -36H-3Z", brush.accent),
        path("M-3 -4L-2 -16H2L3 -4Z", brush.accent),
        rect(-5.5, -23, 11, 1.8, brush.lit("#e8cfa0")),
        ellipse(-9, -7, 6, 3.2, brush.accent),
        stroke("M-1.200 -86V-15M0 -86V-15M1.200 -86V-15", brush.lit("#f6eeda"), 0.3),
      ),
      stroke("M-22 -2L30 -84", brush.lit("#6b4030"), 1.5),
      stroke("M-20 -1.500L31 -81", brush.lit("#f2ead8"), 0.7),
    ),
};

const gift: Subject = {
  stands: "table",
  tall: 240,
  aspect: 0.95,
  colors: [
    ["#d9483f", "#f4d35e"],
    ["#4a8fa8", "#f7e6c4"],
  ],
  draw: (brush) =>
    [
      rect(-38, -54, 76, 54, brush.body, { rx: 3 }),
      rect(-9, -54, 18, 54, brush.accent),
      rect(-44, -70, 88, 18, brush.light, { rx: 3 }),
      rect(-10, -70, 20, 18, tone(brush.accent, 0.04)),
      path(
        "M0 -72C-10 -100 -40 -100 -36 -84C-34 -74 -14 -72 0 -72C10 -100 40 -100 36 -84C34 -74 14 -72 0 -72Z",
        brush.accent,
      ),
      path(
        "M-6 -76C-14 -88 -28 -92 -28 -84C-27 -78 -16 -76 -6 -76ZM6 -76C14 -88 28 -92 28 -84C27 -78 16 -76 6 -76Z",
        shadow(brush.accent, 0.14),
      ),
      circle(0, -73, 6, shadow(brush.accent, 0.05)),
    ].join(""),
};

const bench: Subject = {
  stands: "ground",
  tall: 170,
  aspect: 2,
  colors: [["#a8703f", "#3d4048"]],
  seat: [0, -58],
  riderInside: true,
  draw: (brush) =>
    [
      stroke("M-80 0V-96M80 0V-96M-64 0V-44M64 0V-44", brush.accent, 6),
      ...[-92, -76, -60].map((y) =>
        rect(-96, y, 192, 11, y === -76 ? brush.main : brush.light, { rx: 3 }),
      ),
      brush.rider,
      rect(-100, -46, 200, 9, brush.light, { rx: 3 }),
      rect(-100, -36, 200, 6, brush.dark, { rx: 2 }),
    ].join(""),
};

const camera: Subject = {
  stands: "table",
  tall: 230,
  aspect: 1.35,
  colors: [["#4a4652", "#c98a5a"]],
  draw: (brush) =>
    [
      rect(-24, -96, 40, 24, brush.dark, { rx: 5 }),
      rect(38, -88, 16, 10, brush.lit("#d9483f"), { rx: 3 }),
      rect(-64, -80, 128, 78, brush.lit("#d9d4cc"), { rx: 10 }),
      rect(-64, -60, 128, 46, brush.accent),
      circle(0, -38, 34, brush.body),
      circle(0, -38, 25, brush.lit("#2a2833")),
      circle(
        0,
        -38,
        18,
        brush.defs.radial(
          [
            [0, "#7fb8e0"],
            [0.6, "#2f4a7a"],
            [1, "#141a33"],
          ],
          [0.4, 0.35, 0.7],
        ),
      ),
      circle(-7, -45, 4.6, "#ffffff", { "fill-opacity": 0.7 }),
      rect(44, -74, 14, 9, brush.lit("#bfe0ee"), { rx: 2 }),
    ].join(""),
};

const iceCream: Subject = {
  stands: "table",
  tall: 320,
  aspect: 0.6,
  colors: [["#f7b0c0", "#8a5a3c"]],
  draw: (brush) =>
    [
      path("M-19 -50L0 0L19 -50Z", brush.lit("#e0a85a")),
      stroke("M-14 -46L4 -10M-4 -48L9 -24M14 -46L-4 -10M4 -48L-9 -24", brush.lit("#b97e3a"), 1.2),
      circle(-9, -64, 15, brush.lit("#fbf0d8")),
      circle(10, -62, 15, brush.accent),
      path(
        "M-24 -56Q-18 -46 -12 -52Q-6 -44 0 -52Q6 -44 12 -52Q18 -46 24 -56Q22 -62 0 -62Q-22 -62 -24 -56Z",
        brush.lit("#fbf0d8"),
      ),
      circle(0, -80, 16, brush.body),
      circle(0, -97, 4.4, brush.lit("#d9364a")),
      stroke("M1 -100Q4 -106 8 -106", brush.lit("#5f8a4a"), 1.3),
      stroke("M-8 -84l3 -2M2 -88l3 2M8 -78l2 3M-4 -76l3 1", brush.lit("#7fd0e0"), 1.6),
    ].join(""),
};

export const objects = { umbrella, guitar, violin, gift, bench, camera, iceCream } as const;
