/** Horse, unicorn, sheep, cow. */
import { tone } from "../color.ts";
import { circle, curve, ellipse, type Point, path, stroke } from "../svg.ts";
import { leg } from "./legs.ts";
import { eyes } from "./pets.ts";
import { type Brush, type Subject, sway } from "./subject.ts";

const horseWith = (brush: Brush, mane: (i: number) => string, horn: string): string => {
  const hair = (points: readonly Point[], i: number): string => stroke(curve(points), mane(i), 7);
  const swing = sway(brush.phase) * 3;
  return [
    hair(
      [
        [50, -62],
        [62, -58],
        [66 + swing, -40],
        [60 + swing, -20],
      ],
      0,
    ),
    hair(
      [
        [50, -60],
        [58, -52],
        [60 + swing, -36],
        [52 + swing, -22],
      ],
      1,
    ),
    leg(38, -42, 9, brush.deep, brush.lit("#3a2c33")),
    leg(-14, -42, 9, brush.deep, brush.lit("#3a2c33")),
    leg(46, -48, 10, brush.main, brush.lit("#3a2c33")),
    leg(-22, -48, 10, brush.main, brush.lit("#3a2c33")),
    path(
      "M-30 -52C-32 -60 -34 -70 -40 -80L-22 -92C-14 -80 -6 -70 10 -68C30 -66 52 -70 54 -50C54 -34 40 -34 24 -32C4 -28 -22 -30 -30 -52Z",
      brush.body,
    ),
    path("M-32 -97L-29 -106L-23 -96Z", brush.dark),
    horn,
    path(
      "M-20 -88C-22 -100 -36 -102 -42 -94C-48 -84 -58 -78 -62 -72C-64 -64 -56 -60 -50 -64C-44 -68 -38 -68 -32 -70Z",
      brush.body,
    ),
    path("M-62 -73C-65 -64 -57 -60 -51 -63C-54 -68 -58 -72 -62 -73Z", brush.light),
    circle(-40, -87, 2.6, brush.lit("#221a28")),
    circle(-40.8, -88, 0.9, "#ffffff"),
    circle(-58, -69, 1, brush.deep),
    hair(
      [
        [-30, -100],
        [-18, -96],
        [-12, -82],
        [-4, -74],
      ],
      0,
    ),
    hair(
      [
        [-26, -98],
        [-14, -92],
        [-10, -78],
        [2, -68],
      ],
      1,
    ),
    hair(
      [
        [-24, -92],
        [-18, -80],
        [-12, -70],
        [-6, -60],
      ],
      2,
    ),
    hair(
      [
        [-32, -102],
        [-38, -98],
        [-38, -92],
      ],
      3,
    ),
  ].join("");
};

const horse: Subject = {
  stands: "ground",
  tall: 370,
  aspect: 1.36,
  colors: [
    ["#9a6238", "#4a2e22"],
    ["#e8dfd0", "#b9a88e"],
    ["#4b3a38", "#2a2024"],
  ],
  seat: [16, -66],
  draw: (brush) => horseWith(brush, (i) => (i % 2 ? brush.accent : tone(brush.accent, 0.06)), ""),
};

const rainbowMane = ["#f28ab2", "#b58be8", "#74c6e0", "#f7cf6d"];
const unicorn: Subject = {
  stands: "ground",
  tall: 380,
  aspect: 1.36,
  colors: [["#f8f1f4", "#f28ab2"]],
  seat: [16, -66],
  draw: (brush) =>
    horseWith(
      brush,
      (i) => brush.lit(rainbowMane[i % 4] ?? "#f28ab2"),
      path("M-40 -97L-52 -120L-33 -102Z", brush.lit("#f5c84c")) +
        stroke("M-43 -103l7 -2M-46 -109l6 -2", brush.lit("#fff2c0"), 1.2),
    ),
};

const sheep: Subject = {
  stands: "ground",
  tall: 220,
  aspect: 1.25,
  colors: [["#f6f0e4", "#4a3f45"]],
  draw: (brush) => {
    const wool = Array.from({ length: 15 }, (_, i) => {
      const angle = (i / 15) * Math.PI * 2;
      return circle(
        8 + Math.cos(angle) * 40,
        -56 + Math.sin(angle) * 23,
        15,
        Math.sin(angle) > 0.3 ? brush.dark : brush.main,
      );
    });
    return [
      leg(-14, -34, 7, brush.accent, brush.lit("#2d262b")),
      leg(34, -34, 7, brush.accent, brush.lit("#2d262b")),
      ...wool,
      ellipse(8, -58, 44, 26, brush.body),
      stroke("M-4 -60q6 -8 12 0M16 -68q6 -8 12 0M22 -50q6 -8 12 0M-2 -44q6 -8 12 0", brush.dark, 2),
      leg(-4, -30, 7.4, tone(brush.accent, 0.06), brush.lit("#2d262b")),
      leg(24, -30, 7.4, tone(brush.accent, 0.06), brush.lit("#2d262b")),
      path("M-54 -70C-62 -74 -68 -70 -66 -66C-62 -64 -56 -65 -52 -67Z", brush.accent),
      path(
        "M-40 -82C-54 -82 -58 -66 -54 -54C-50 -46 -40 -46 -36 -54C-30 -66 -30 -80 -40 -82Z",
        brush.accent,
      ),
      circle(-46, -82, 9, brush.main),
      circle(-36, -84, 9, brush.light),
      circle(-48, -66, 3, "#ffffff"),
      circle(-48.6, -66, 1.7, brush.lit("#1f1826")),
    ].join("");
  },
};

const cow: Subject = {
  stands: "ground",
  tall: 300,
  aspect: 1.35,
  colors: [["#f4ece0", "#4b3a36"]],
  seat: [20, -72],
  draw: (brush) =>
    [
      stroke(`M60 -62Q70 -44 ${64 + sway(brush.phase) * 3} -26`, brush.dark, 3),
      leg(40, -34, 11, brush.deep, brush.accent),
      leg(-8, -34, 11, brush.deep, brush.accent),
      leg(50, -38, 12, brush.main, brush.accent),
      leg(-18, -38, 12, brush.main, brush.accent),
      path("M-36 -84C-20 -84 -8 -76 0 -70L-4 -40C-20 -46 -36 -52 -44 -60Z", brush.dark),
      path(
        "M-30 -62C-30 -76 0 -74 20 -74C44 -76 62 -74 62 -52C62 -30 44 -30 20 -28C-8 -26 -28 -30 -30 -62Z",
        brush.body,
      ),
      path("M2 -74C14 -60 32 -62 36 -75Z", brush.accent),
      path("M44 -30C40 -48 54 -56 62 -52C62 -38 56 -31 44 -30Z", brush.accent),
      path("M-22 -44C-12 -54 4 -48 2 -36C-6 -30 -18 -34 -22 -44Z", brush.accent),
      ellipse(28, -27, 10, 6, brush.lit("#f0b3b0")),
      path(
        "M-62 -88Q-66 -98 -60 -100Q-58 -92 -52 -88ZM-30 -88Q-26 -98 -32 -100Q-34 -92 -40 -88Z",
        brush.lit("#e0cfae"),
      ),
      path("M-62 -82C-74 -84 -76 -76 -72 -73C-66 -72 -62 -74 -60 -76Z", brush.accent),
      path("M-30 -82C-18 -84 -16 -76 -20 -73C-26 -72 -30 -74 -32 -76Z", brush.accent),
      path(
        "M-46 -92C-60 -92 -62 -80 -60 -72C-59 -62 -58 -52 -46 -52C-34 -52 -33 -62 -32 -72C-30 -80 -32 -92 -46 -92Z",
        brush.body,
      ),
      path("M-46 -92C-40 -90 -36 -78 -40 -68C-34 -70 -30 -90 -46 -92Z", brush.accent),
      ellipse(-46, -58, 13, 8.5, brush.lit("#f2bcb6")),
      circle(-50.5, -59, 1.6, brush.lit("#8d5556")),
      circle(-41.5, -59, 1.6, brush.lit("#8d5556")),
      eyes(brush, -46, -75, 8, 3),
    ].join(""),
};

export const farmAnimals = { horse, unicorn, sheep, cow } as const;
