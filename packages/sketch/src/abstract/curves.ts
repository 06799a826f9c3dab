/** Abstract compositions of curves: ribbons, overlapping rings, contour lines. */
import { gradientColor, tone } from "../color.ts";
import { noise1 } from "../random.ts";
import { type Layer, scaledCount } from "../scene/stage.ts";
import { sway } from "../subjects/subject.ts";
import { circle, curve, num, type Point, path, stroke } from "../svg.ts";
import { type Composition, ground } from "./composition.ts";

/** Waves of color with a disc behind them. */
export const ribbons: Composition = (stage, scheme) => {
  const { width, height, defs, phase } = stage;
  const random = stage.random.fork("ribbons");
  const count = Math.round(7 + Math.min(6, stage.detail * 2));
  const disc = {
    x: width * random.between(0.28, 0.72),
    y: height * random.between(0.22, 0.4),
    r: Math.min(width, height) * random.between(0.13, 0.2),
  };
  const sunny = random.pick(scheme.accents);
  const bands = Array.from({ length: count }, (_, i): Layer => {
    const t = i / (count - 1);
    const noise = noise1(random.fork(`band ${i}`), 2, 0.5);
    const color = gradientColor(scheme.accents, (t * 1.3 + random.between(-0.05, 0.05)) % 1);
    const top: Point[] = Array.from(
      { length: 13 },
      (_, k) =>
        [
          (k / 12) * (width + 80) - 40,
          height * (0.3 + t * 0.66) +
            noise(k / 4 + i * 0.4) * height * 0.13 +
            sway(phase, k / 12 + i / count) * 8,
        ] as const,
    );
    return {
      name: `band ${i}`,
      svg:
        path(
          `${curve(top)}L${num(width + 40)} ${num(height + 10)}L-40 ${num(height + 10)}Z`,
          defs.linear(
            [
              [0, tone(color, 0.07)],
              [0.5, color],
              [1, tone(color, -0.1)],
            ],
            [0, 0, 1, 0.4],
          ),
        ) + stroke(curve(top), tone(color, 0.16), 3, { "stroke-opacity": 0.5 }),
    };
  });
  return [
    ground(stage, scheme),
    {
      name: "disc",
      svg:
        circle(
          disc.x,
          disc.y,
          disc.r * 1.9,
          defs.radial([
            [0, sunny, 0.4],
            [1, sunny, 0],
          ]),
        ) +
        circle(
          disc.x,
          disc.y,
          disc.r,
          defs.linear([
            [0, tone(sunny, 0.1)],
            [1, tone(sunny, -0.06)],
          ]),
        ),
    },
    ...bands,
  ];
};

/** Overlapping rings and discs. */
export const orbits: Composition = (stage, scheme) => {
  const { width, height, defs, phase } = stage;
  const random = stage.random.fork("orbits");
  const short = Math.min(width, height);
  const discs = Array.from({ length: scaledCount(stage, 9) }, () => {
    const color = random.pick(scheme.accents);
    const [x, y, r] = [
      width * random.between(0.1, 0.9),
      height * random.between(0.1, 0.9),
      short * random.between(0.05, 0.24),
    ];
    return circle(
      x,
      y,
      r,
      defs.linear(
        [
          [0, tone(color, 0.08), 0.92],
          [1, color, 0.55],
        ],
        [0, 0, 1, 1],
      ),
    );
  });
  const center = { x: width * random.between(0.38, 0.62), y: height * random.between(0.38, 0.62) };
  const rings = Array.from({ length: scaledCount(stage, 9) }, (_, i) => {
    const r = short * (0.08 + i * 0.047);
    const round = 2 * Math.PI * r;
    const part = random.between(0.3, 0.9);
    return circle(center.x, center.y, r, "none", {
      stroke: random.pick(scheme.accents),
      "stroke-width": random.between(3, 15),
      "stroke-linecap": "round",
      "stroke-dasharray": `${num(round * part)} ${num(round)}`,
      transform: `rotate(${num(random.between(0, 360) + phase * 360 * (i % 2 ? 1 : -1))} ${num(center.x)} ${num(center.y)})`,
    });
  });
  const lines = Array.from({ length: 4 }, () => {
    const angle = random.between(0, Math.PI);
    const reach = short * random.between(0.3, 0.7);
    return `M${num(center.x - Math.cos(angle) * reach)} ${num(center.y - Math.sin(angle) * reach)}L${num(center.x + Math.cos(angle) * reach)} ${num(center.y + Math.sin(angle) * reach)}`;
  }).join("");
  const ink = scheme.dark ? tone(scheme.ground, 0.6) : tone(scheme.ground, -0.6);
  return [
    ground(stage, scheme),
    { name: "discs", svg: discs.join("") },
    { name: "lines", svg: stroke(lines, ink, 2.4, { "stroke-opacity": 0.7 }) },
    { name: "rings", svg: rings.join("") },
  ];
};

/** Contour lines of a map, as stacked areas. */
export const contours: Composition = (stage, scheme) => {
  const { width, height, phase } = stage;
  const random = stage.random.fork("contours");
  const hills = Array.from({ length: 3 }, (_, i) => ({
    x: width * (0.2 + i * 0.3 + random.between(-0.08, 0.08)),
    y: height * random.between(0.25, 0.75),
    r: Math.min(width, height) * random.between(0.55, 0.8),
    noise: noise1(random.fork(`hill ${i}`), 3),
  }));
  const levels = Math.round(6 + Math.min(6, stage.detail * 2));
  return [
    ground(stage, scheme),
    ...Array.from({ length: levels }, (_, level): Layer => {
      const t = level / (levels - 1);
      const color = gradientColor(scheme.accents, t);
      const d = hills
        .map(({ x, y, r, noise }) =>
          curve(
            Array.from({ length: 26 }, (_, k) => {
              const angle = (k / 26) * Math.PI * 2;
              const reach =
                r *
                (1 - t * 0.92) *
                (1 +
                  noise(2 + Math.cos(angle) * 1.4 + Math.sin(angle) * 2.2) * 0.42 +
                  sway(phase, t + k / 26) * 0.01);
              return [x + Math.cos(angle) * reach, y + Math.sin(angle) * reach * 0.86] as const;
            }),
            true,
          ),
        )
        .join("");
      return {
        name: `level ${level}`,
        svg: path(d, color, {
          stroke: tone(color, 0.1),
          "stroke-width": 2.4,
          "stroke-opacity": 0.7,
        }),
      };
    }),
  ];
};
