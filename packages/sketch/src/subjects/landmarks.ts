/** Landmarks: Eiffel tower, lighthouse, windmill, tent, bridge. */
import { circle, group, path, polygon, rect, stroke } from "../svg.ts";
import { glass } from "./buildings.ts";
import { type Subject, sway } from "./subject.ts";

/** The Eiffel tower: four legs that lean together, two platforms, and a mast. */
const eiffelTower: Subject = {
  stands: "ground",
  tall: 640,
  aspect: 0.5,
  colors: [["#8a6a50", "#6b5242"]],
  draw: (brush) => {
    const half = (y: number): number => 1.2 + 23 * ((y + 94) / 94) ** 2.6;
    const heights = [-88, -82, -76, -70, -64, -58, -52, -46, -40, -33, -26, -18, -10, 0];
    const side = (s: 1 | -1): string =>
      heights.map((y) => `${(s * half(y)).toFixed(2)} ${y}`).join("L");
    const lattice = heights
      .slice(0, -1)
      .map((y, i) => {
        const [low, wide, wider] = [heights[i + 1] ?? 0, half(y), half(heights[i + 1] ?? 0)];
        const inner = low > -26 ? 0.48 : -1;
        return `M${wide.toFixed(2)} ${y}L${(wider * inner).toFixed(2)} ${low}M${(-wide).toFixed(2)} ${y}L${(-wider * inner).toFixed(2)} ${low}`;
      })
      .join("");
    return [
      path(
        `M${side(1)}H12C12 -13 7 -20 0 -20C-7 -20 -12 -13 -12 0L${side(-1).split("L").toReversed().join("L")}Z`,
        brush.body,
      ),
      stroke(lattice, brush.deep, 0.7, { "stroke-opacity": 0.75 }),
      stroke(
        "M-12.500 0C-12.500 -13 -7 -20.500 0 -20.500C7 -20.500 12.500 -13 12.500 0",
        brush.accent,
        1.5,
      ),
      rect(-15, -28.5, 30, 3, brush.accent),
      rect(-8.5, -53, 17, 2.4, brush.accent),
      rect(-3, -89, 6, 2.2, brush.accent),
      path("M-1.800 -89L0 -93L1.800 -89Z", brush.dark),
      stroke("M0 -92V-100", brush.dark, 0.9),
      ...(brush.night ? [-80, -66, -52, -40, -27].map((y) => circle(0, y, 1.1, "#ffe9a8")) : []),
    ].join("");
  },
};

const lighthouse: Subject = {
  stands: "ground",
  tall: 460,
  aspect: 0.55,
  colors: [["#f6f1e7", "#cf453d"]],
  draw: (brush) => {
    const band = (y1: number, y2: number): string => {
      const half = (y: number): number => 8 + ((y + 76) / 76) * 7;
      return path(
        `M${-half(y1)} ${y1}L${-half(y2)} ${y2}Q0 ${y2 + 3} ${half(y2)} ${y2}L${half(y1)} ${y1}Q0 ${y1 + 3} ${-half(y1)} ${y1}Z`,
        brush.accent,
      );
    };
    const beam = brush.night ? 0.5 : 0.16;
    const turn = sway(brush.phase) * 6;
    return [
      path(
        polygon([
          [0, -86],
          [-150, -116 + turn],
          [-150, -74 + turn],
        ]),
        brush.defs.linear(
          [
            [0, "#fff3b8", 0],
            [1, "#fff3b8", beam],
          ],
          [0, 0, 1, 0],
        ),
      ),
      path(
        polygon([
          [0, -86],
          [150, -112 - turn],
          [150, -70 - turn],
        ]),
        brush.defs.linear(
          [
            [0, "#fff3b8", beam],
            [1, "#fff3b8", 0],
          ],
          [0, 0, 1, 0],
        ),
      ),
      path("M-28 2Q-24 -10 -12 -9Q0 -14 12 -9Q26 -10 30 2Z", brush.lit("#6d6a70")),
      path(
        "M-8 -76L-15 -2Q0 3 15 -2L8 -76Z",
        brush.defs.linear(
          [
            [0, brush.light],
            [0.5, brush.main],
            [1, brush.dark],
          ],
          [0, 0, 1, 0],
        ),
      ),
      band(-66, -52),
      band(-38, -23),
      path("M2 -76L8 -76L15 -2Q10 0 6 0.6Z", brush.deep, { "fill-opacity": 0.18 }),
      path("M-3 -2V-10Q0 -15 3 -10V-2Z", brush.lit("#5a3d36")),
      rect(-1.6, -47, 3.2, 5, glass(brush), { rx: 1.4 }),
      rect(-1.6, -72, 3.2, 4, glass(brush), { rx: 1.4 }),
      rect(-11, -78, 22, 3, brush.lit("#3b3f4d"), { rx: 1 }),
      rect(-6.5, -91, 13, 13, brush.lit("#ffe79a")),
      stroke("M-6.5 -91V-78M0 -91V-78M6.5 -91V-78M-10 -78V-83H10V-78", brush.lit("#3b3f4d"), 0.9),
      path("M-8.5 -90Q0 -102 8.5 -90Z", brush.accent),
      circle(0, -98, 1.5, brush.accent),
      circle(0, -85, 4, "#fffbe2"),
    ].join("");
  },
};

const windmill: Subject = {
  stands: "ground",
  tall: 430,
  aspect: 0.85,
  colors: [["#efe4d2", "#a8604a"]],
  draw: (brush) => {
    const blade =
      stroke("M0 0V-40", brush.lit("#6b4a38"), 2) +
      rect(1, -39, 9, 30, brush.lit("#fdf8ee"), { "fill-opacity": 0.95 }) +
      stroke("M1 -39h9v30h-9M1 -32h9M1 -24.500h9M1 -17h9M5.500 -39v30", brush.lit("#8a6a52"), 0.8);
    return [
      path(
        "M-14 -56L-22 0H22L14 -56Z",
        brush.defs.linear(
          [
            [0, brush.light],
            [0.5, brush.main],
            [1, brush.dark],
          ],
          [0, 0, 1, 0],
        ),
      ),
      path("M-16 -55Q-14 -74 0 -74Q14 -74 16 -55Z", brush.accent),
      rect(-24, -24, 48, 3, brush.lit("#7a5642")),
      stroke(
        "M-24 -24V-30H24V-24M-16 -30V-24M-8 -30V-24M0 -30V-24M8 -30V-24M16 -30V-24",
        brush.lit("#7a5642"),
        1,
      ),
      path("M-4.500 0V-13Q0 -19 4.500 -13V0Z", brush.lit("#6b4636")),
      rect(-3, -46, 6, 8, glass(brush), { rx: 2 }),
      group(
        { transform: `translate(0 -60) rotate(${20 + brush.phase * 90})` },
        ...[0, 90, 180, 270].map((a) => group({ transform: `rotate(${a})` }, blade)),
        circle(0, 0, 3, brush.lit("#4a3630")),
      ),
    ].join("");
  },
};

const tent: Subject = {
  stands: "ground",
  tall: 190,
  aspect: 1.5,
  colors: [
    ["#e2903c", "#f6dfb0"],
    ["#4a8f8a", "#f0e2c0"],
  ],
  draw: (brush) =>
    [
      path("M-4 -92L70 0H10Z", brush.deep),
      path("M-4 -92L-72 0H14Z", brush.body),
      path(
        "M-4 -78L-26 0H12Z",
        brush.night
          ? brush.defs.linear([
              [0, "#ffd978"],
              [1, "#f6a445"],
            ])
          : brush.lit("#4a3540"),
      ),
      path("M-4 -80L-30 0L-18 0Q-10 -40 -4 -80Z", brush.accent),
      stroke("M-4 -92V-100M-72 0L-88 6M70 0L86 6M-38 -46L-84 4", brush.lit("#6b4a38"), 1.4),
    ].join(""),
};

const bridge: Subject = {
  stands: "water",
  tall: 260,
  aspect: 3,
  colors: [["#b56a4e", "#8a4a3c"]],
  draw: (brush) =>
    [
      path(
        "M-150 -40Q0 -96 150 -40V0H126Q120 -34 90 -34Q58 -34 54 0H36Q30 -52 0 -52Q-30 -52 -36 0H-54Q-58 -34 -90 -34Q-120 -34 -126 0H-150Z",
        brush.body,
      ),
      stroke("M-150 -44Q0 -100 150 -44", brush.accent, 6),
      stroke(
        "M-126 0Q-120 -34 -90 -34Q-58 -34 -54 0M-36 0Q-30 -52 0 -52Q30 -52 36 0M54 0Q58 -34 90 -34Q120 -34 126 0",
        brush.deep,
        3,
      ),
      ...[-120, -80, -40, 0, 40, 80, 120].map((x) =>
        stroke(`M${x} ${-72 + (x * x) / 560}V${-86 + (x * x) / 560}`, brush.deep, 3),
      ),
      stroke("M-150 -58Q0 -114 150 -58", brush.deep, 2.4),
    ].join(""),
};

export const landmarks = { eiffelTower, lighthouse, windmill, tent, bridge } as const;
