/** Light sources: candle, lantern, bulb, campfire. */
import { tone } from "../color.ts";
import { circle, ellipse, path, rect, stroke } from "../svg.ts";
import { type Brush, type Subject, shadow, sway } from "./subject.ts";

export const flame = (brush: Brush, x: number, y: number, size: number): string => {
  const lean = sway(brush.phase) * 0.08 * size;
  return (
    circle(
      x,
      y - size * 0.6,
      size * 2.2,
      brush.defs.radial([
        [0, "#ffd98a", 0.55],
        [1, "#ffb347", 0],
      ]),
    ) +
    path(
      `M${x} ${y}C${x - size * 0.55} ${y - size * 0.3} ${x - size * 0.4} ${y - size * 0.9} ${x + lean} ${y - size * 1.5}C${x + size * 0.5} ${y - size * 0.9} ${x + size * 0.5} ${y - size * 0.3} ${x} ${y}Z`,
      "#ff9a2e",
    ) +
    path(
      `M${x} ${y}C${x - size * 0.28} ${y - size * 0.2} ${x - size * 0.2} ${y - size * 0.5} ${x + lean * 0.5} ${y - size * 0.85}C${x + size * 0.26} ${y - size * 0.5} ${x + size * 0.26} ${y - size * 0.2} ${x} ${y}Z`,
      "#fff0b0",
    )
  );
};

const candle: Subject = {
  stands: "table",
  tall: 280,
  aspect: 0.6,
  colors: [["#f6ecd6", "#b98a4a"]],
  draw: (brush) =>
    [
      ellipse(0, -3, 28, 5, shadow(brush.accent, 0.1)),
      ellipse(0, -6, 28, 5, brush.accent),
      rect(-12, -66, 24, 60, brush.body, { rx: 3 }),
      path("M-12 -64Q-9 -50 -7 -60Q-3 -44 0 -60Q5 -54 12 -64V-66H-12Z", brush.light),
      stroke("M0 -66V-72", brush.lit("#3a2c33"), 1.6),
      flame(brush, 0, -70, 15),
    ].join(""),
};

const lantern: Subject = {
  stands: "table",
  tall: 320,
  aspect: 0.6,
  colors: [["#d9574f", "#3a2f38"]],
  draw: (brush) =>
    [
      circle(
        0,
        -44,
        60,
        brush.defs.radial([
          [0, "#ffd98a", 0.45],
          [1, "#ffb347", 0],
        ]),
      ),
      path("M-14 -84C-14 -104 14 -104 14 -84", "none", { stroke: brush.accent, "stroke-width": 3 }),
      path("M-20 -80H20L16 -86H-16Z", brush.accent),
      rect(-22, -80, 44, 70, brush.lit("#fff0c4"), { rx: 4, "fill-opacity": 0.9 }),
      flame(brush, 0, -26, 14),
      rect(-5, -26, 10, 16, brush.lit("#f6ecd6")),
      stroke("M-22 -80V-10M22 -80V-10M0 -80V-66M-22 -46H-14M22 -46H14", brush.accent, 3),
      path("M-26 -10H26L30 0H-30Z", brush.accent),
      path("M-24 -80H24V-74H-24Z", brush.main),
    ].join(""),
};

const bulb: Subject = {
  stands: "air",
  tall: 300,
  aspect: 0.7,
  colors: [["#ffe08a", "#6d7a8a"]],
  draw: (brush) =>
    [
      circle(
        0,
        -66,
        58,
        brush.defs.radial([
          [0, brush.main, 0.6],
          [1, brush.main, 0],
        ]),
      ),
      path(
        "M0 -100C-22 -100 -32 -84 -32 -70C-32 -52 -16 -44 -14 -28H14C16 -44 32 -52 32 -70C32 -84 22 -100 0 -100Z",
        brush.body,
      ),
      stroke("M-6 -28L-10 -56L-4 -50L0 -58L4 -50L10 -56L6 -28", brush.lit("#d98a2c"), 1.8),
      path(
        "M-22 -72C-22 -84 -14 -91 -8 -93C-14 -86 -16 -78 -16 -68C-20 -66 -22 -68 -22 -72Z",
        "#ffffff",
        { "fill-opacity": 0.7 },
      ),
      rect(-14, -27, 28, 7, brush.accent, { rx: 3 }),
      rect(-13, -19, 26, 6, tone(brush.accent, 0.1), { rx: 3 }),
      rect(-11, -12, 22, 6, brush.accent, { rx: 3 }),
      path("M-6 -6H6L3 0H-3Z", brush.lit("#3d4652")),
    ].join(""),
};

const campfire: Subject = {
  stands: "ground",
  tall: 190,
  aspect: 1,
  colors: [["#ff8a2b", "#6b4636"]],
  draw: (brush) => {
    const lick = (
      x: number,
      height: number,
      width: number,
      fill: string,
      offset: number,
    ): string => {
      const lean = sway(brush.phase, offset) * 5;
      return path(
        `M${x - width} -10C${x - width * 1.3} ${-10 - height * 0.4} ${x - width * 0.3} ${-10 - height * 0.6} ${x + lean} ${-10 - height}C${x + width * 0.5} ${-10 - height * 0.6} ${x + width * 1.3} ${-10 - height * 0.3} ${x + width} -10Z`,
        fill,
      );
    };
    return [
      circle(
        0,
        -40,
        110,
        brush.defs.radial([
          [0, "#ffb347", 0.55],
          [1, "#ff8a2b", 0],
        ]),
      ),
      lick(0, 88, 24, "#f2622a", 0),
      lick(-14, 56, 14, "#f2622a", 0.3),
      lick(15, 60, 14, "#f2622a", 0.6),
      lick(0, 64, 17, "#ff9a2e", 0.2),
      lick(1, 40, 11, "#ffd257", 0.5),
      lick(0, 22, 6, "#fff3c8", 0.1),
      stroke("M-38 0L34 -16M38 0L-34 -16", brush.accent, 10),
      stroke("M-38 0l1 0M38 0l1 0", brush.lit("#c99a6c"), 9),
      ...[-46, -30, 30, 46].map((x, i) =>
        ellipse(x, 2, 10, 6, brush.lit(i % 2 ? "#8a8580" : "#6d6a68")),
      ),
    ].join("");
  },
};

export const lights = { candle, lantern, bulb, campfire } as const;
