/** Vehicles: sailboat, ship, rowing boat, car, bus, train, bicycle. */
import { tone } from "../color.ts";
import { circle, ellipse, group, path, rect, stroke } from "../svg.ts";
import { type Brush, type Subject, sway } from "./subject.ts";

const wake = (brush: Brush, reach: number): string =>
  stroke(
    `M${-reach} 2Q${-reach * 0.4} 9 0 4T${reach} 2M${-reach * 0.7} 9Q0 16 ${reach * 0.8} 9`,
    brush.lit("#ffffff"),
    1.8,
    { "stroke-opacity": 0.5 },
  );

const sailboat: Subject = {
  stands: "water",
  tall: 340,
  aspect: 0.85,
  colors: [
    ["#fbf3e4", "#c8503f"],
    ["#f4b860", "#34506e"],
    ["#e0624f", "#f4efe4"],
  ],
  seat: [-20, -16],
  riderInside: true,
  draw: (brush) =>
    group(
      { transform: `rotate(${sway(brush.phase) * 2.4})` },
      rect(-1.2, -98, 2.4, 84, brush.lit("#6b4a38"), { rx: 1 }),
      path("M3 -94C24 -74 36 -46 38 -24Q20 -20 3 -22Z", brush.body),
      path("M-3 -88C-14 -66 -28 -44 -36 -26Q-18 -22 -3 -23Z", brush.dark),
      stroke("M3 -72Q14 -70 21 -68M3 -50Q20 -47 32 -44", brush.dark, 0.9),
      path("M0 -100L-14 -96L0 -92Z", brush.lit("#e2493f")),
      brush.rider,
      path(
        "M-44 -17Q0 -13 46 -18C42 -6 34 0 26 2H-26C-34 0 -40 -6 -44 -17Z",
        brush.defs.linear([
          [0, brush.accent],
          [1, tone(brush.accent, -0.14)],
        ]),
      ),
      path("M-43 -14Q0 -10 45 -15L43.5 -11Q0 -6 -41.5 -10Z", brush.lit("#fff6e6"), {
        "fill-opacity": 0.85,
      }),
      wake(brush, 56),
    ),
};

const ship: Subject = {
  stands: "water",
  tall: 300,
  aspect: 1.7,
  colors: [["#c9463d", "#f6efe2"]],
  seat: [-44, -38],
  draw: (brush) => {
    const deck = brush.lit("#f6efe2");
    const smoke = [0, 1, 2].map((i) =>
      circle(
        18 + i * 14 + sway(brush.phase, i / 3) * 2,
        -92 - i * 7,
        7 + i * 3,
        brush.lit("#e9e4df"),
        {
          "fill-opacity": 0.6 - i * 0.15,
        },
      ),
    );
    return group(
      { transform: `rotate(${sway(brush.phase) * 1.2})` },
      ...smoke,
      rect(-6, -86, 16, 30, brush.main),
      rect(-6, -78, 16, 7, deck),
      rect(22, -80, 14, 24, brush.main),
      rect(22, -74, 14, 6, deck),
      rect(-46, -58, 96, 18, deck, { rx: 2 }),
      rect(-34, -70, 66, 14, tone(deck, -0.06), { rx: 2 }),
      ...[-38, -26, -14, -2, 10, 22, 34].map((x) =>
        rect(x, -53, 7, 6, brush.night ? "#ffd978" : brush.lit("#4d6a86"), { rx: 1 }),
      ),
      path(
        "M-84 -40H76C72 -20 62 -4 54 2H-58C-70 -8 -80 -24 -84 -40Z",
        brush.defs.linear([
          [0, brush.lit("#39475e")],
          [1, brush.lit("#232d42")],
        ]),
      ),
      path("M-70 -14H66C62 -6 58 0 54 2H-58C-63 -2 -67 -8 -70 -14Z", brush.main),
      ...[-54, -38, -22, -6, 10, 26, 42].map((x) =>
        circle(x, -28, 3, brush.night ? "#ffe2a0" : brush.lit("#c8d6df")),
      ),
      stroke("M-60 -40V-64M-60 -62L-34 -58", brush.lit("#6b5a50"), 1.8),
      wake(brush, 92),
    );
  },
};

const rowboat: Subject = {
  stands: "water",
  tall: 185,
  aspect: 2,
  colors: [
    ["#a5653c", "#e9c893"],
    ["#3f7c8c", "#f1e2c6"],
  ],
  seat: [0, -26],
  riderInside: true,
  draw: (brush) =>
    group(
      { transform: `rotate(${sway(brush.phase) * 1.6})` },
      path("M-78 -44Q0 -28 78 -44L70 -38Q0 -24 -70 -38Z", brush.deep),
      brush.rider,
      stroke("M-16 -40L-60 -10M16 -40L60 -10", brush.lit("#8a5f42"), 4),
      path("M-80 -46Q0 -26 80 -46C74 -18 58 0 44 4H-44C-58 0 -74 -18 -80 -46Z", brush.body),
      path("M-79 -42Q0 -22 79 -42L77 -35Q0 -15 -77 -35Z", brush.accent),
      stroke("M-68 -18Q0 -4 68 -18", brush.deep, 1.8),
      wake(brush, 96),
    ),
};

const wheel = (brush: Brush, x: number, r: number): string =>
  circle(x, -r, r, brush.lit("#2a2730")) +
  circle(x, -r, r * 0.55, brush.lit("#d5d3d2")) +
  circle(x, -r, r * 0.22, brush.lit("#6d6a70"));

const car: Subject = {
  stands: "ground",
  tall: 210,
  aspect: 1.95,
  colors: [
    ["#d9483b", "#f7ead2"],
    ["#3f8f98", "#f4ecd8"],
    ["#f0b63e", "#fff3d8"],
  ],
  seat: [6, -90],
  draw: (brush) => {
    const glass = brush.defs.linear([
      [0, brush.night ? "#ffe2a0" : brush.lit("#dff0f5")],
      [1, brush.night ? "#f0b25a" : brush.lit("#8fb8cc")],
    ]);
    return [
      path("M-46 -52C-40 -84 -26 -92 4 -92C36 -92 48 -78 58 -52Z", brush.dark),
      path("M-38 -54C-34 -76 -24 -84 -4 -84V-54ZM4 -84C28 -84 38 -74 47 -54H4Z", glass),
      path(
        "M-94 -30C-96 -46 -84 -54 -46 -56H58C84 -54 94 -48 95 -32C95 -22 92 -18 88 -16H-88C-92 -18 -94 -22 -94 -30Z",
        brush.body,
      ),
      path("M-94 -34H95L95 -29H-94Z", brush.accent, { "fill-opacity": 0.9 }),
      stroke("M0 -54V-20M-42 -54Q-46 -36 -40 -20", brush.dark, 1.4),
      stroke("M-14 -46h8", brush.light, 2.4),
      circle(-87, -40, 6, brush.night ? "#fff3b8" : brush.lit("#fff6d8")),
      rect(86, -46, 7, 10, brush.lit("#e8453c"), { rx: 2 }),
      rect(-98, -22, 22, 6, brush.lit("#cfd3d6"), { rx: 3 }),
      rect(76, -22, 22, 6, brush.lit("#cfd3d6"), { rx: 3 }),
      circle(-54, -19, 23, brush.deep),
      circle(56, -19, 23, brush.deep),
      wheel(brush, -54, 18.5),
      wheel(brush, 56, 18.5),
    ].join("");
  },
};

const bus: Subject = {
  stands: "ground",
  tall: 260,
  aspect: 1.8,
  colors: [
    ["#e2574c", "#fff3df"],
    ["#f2b63c", "#fff7e2"],
  ],
  seat: [0, -94],
  draw: (brush) => {
    const glass = brush.night ? "#ffe09a" : brush.lit("#cfe6ee");
    return [
      rect(-88, -96, 176, 84, brush.body, { rx: 14 }),
      rect(-88, -50, 176, 10, brush.accent),
      ...[-78, -48, -18, 12, 42].map((x) => rect(x, -84, 25, 26, glass, { rx: 4 })),
      path("M72 -84H78C84 -84 88 -80 88 -74V-54H72Z", glass),
      rect(44, -52, 22, 40, brush.dark, { rx: 2 }),
      rect(47, -50, 16, 34, glass, { rx: 2, "fill-opacity": 0.6 }),
      circle(83, -26, 5, brush.night ? "#fff3b8" : brush.lit("#fff6d8")),
      wheel(brush, -50, 16),
      wheel(brush, 30, 16),
    ].join("");
  },
};

const train: Subject = {
  stands: "ground",
  tall: 240,
  aspect: 2.1,
  colors: [["#b5403a", "#2f3a4a"]],
  draw: (brush) => {
    const puff = [0, 1, 2, 3].map((i) =>
      circle(
        -62 + i * 20 + sway(brush.phase, i / 4) * 3,
        -104 - i * 9,
        9 + i * 4,
        brush.lit("#f2ede6"),
        {
          "fill-opacity": 0.75 - i * 0.14,
        },
      ),
    );
    const glass = brush.night ? "#ffd978" : brush.lit("#cfe6ee");
    return [
      ...puff,
      rect(-106, -8, 212, 3, brush.lit("#5a4c48")),
      stroke("M-104 -2H104", brush.lit("#7b675a"), 3, { "stroke-dasharray": "6 8" }),
      path("M-70 -68L-76 -94H-52L-58 -68Z", brush.accent),
      rect(-92, -70, 78, 44, brush.body, { rx: 20 }),
      rect(-50, -70, 7, 44, brush.lit("#e8b64a")),
      rect(-30, -70, 5, 44, brush.lit("#e8b64a")),
      path("M-34 -68Q-34 -84 -24 -84Q-14 -84 -14 -68Z", brush.lit("#e8b64a")),
      rect(-14, -92, 44, 70, brush.main, { rx: 3 }),
      rect(-20, -98, 56, 8, brush.accent, { rx: 4 }),
      rect(-6, -82, 28, 24, glass, { rx: 3 }),
      rect(40, -78, 62, 56, brush.dark, { rx: 4 }),
      rect(36, -84, 70, 7, brush.accent, { rx: 3 }),
      ...[46, 65, 84].map((x) => rect(x, -68, 13, 20, glass, { rx: 2 })),
      path("M-94 -26L-108 -8H-82Z", brush.accent),
      rect(-94, -28, 196, 8, brush.accent),
      circle(-94, -50, 6, brush.lit("#fff0b8")),
      wheel(brush, -72, 13),
      wheel(brush, -42, 13),
      wheel(brush, 2, 16),
      wheel(brush, 54, 11),
      wheel(brush, 90, 11),
    ].join("");
  },
};

const bicycle: Subject = {
  stands: "ground",
  tall: 240,
  aspect: 1.5,
  colors: [
    ["#d6493f", "#4a3a36"],
    ["#3f9a93", "#5a3d2e"],
  ],
  seat: [-16, -84],
  draw: (brush) => {
    const spokes = (x: number): string =>
      Array.from({ length: 8 }, (_, i) => {
        const angle = ((i + brush.phase * 2) / 8) * Math.PI * 2;
        return `M${x} -30L${x + Math.cos(angle) * 27} ${-30 + Math.sin(angle) * 27}`;
      }).join("");
    const tyre = (x: number): string =>
      circle(x, -30, 28, "none", { stroke: brush.lit("#2f2a33"), "stroke-width": 4 }) +
      stroke(spokes(x), brush.lit("#b9b4b3"), 0.7);
    return [
      tyre(-44),
      tyre(46),
      stroke("M-44 -30L-16 -74L28 -74L-2 -30ZM-2 -30L-18 -78M46 -30L26 -82", brush.main, 4.4),
      stroke("M26 -84Q30 -98 44 -92", brush.lit("#4c4650"), 3.6),
      path("M-30 -84Q-16 -88 -4 -82L-16 -78Z", brush.accent),
      rect(28, -80, 26, 18, brush.lit("#b98450"), { rx: 3 }),
      stroke("M30 -74H52M30 -68H52", brush.lit("#8f6238"), 1.4),
      circle(34, -83, 5, brush.lit("#f29fb0")),
      circle(43, -85, 5.6, brush.lit("#f7d26a")),
      circle(50, -82, 4.6, brush.lit("#f2f0ea")),
      circle(-2, -30, 6, brush.lit("#6d6870")),
      ellipse(4, -22, 5, 1.8, brush.accent),
    ].join("");
  },
};

export const vehicles = { sailboat, ship, rowboat, car, bus, train, bicycle } as const;
