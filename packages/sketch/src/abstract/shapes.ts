/** Abstract compositions of shapes: tiles after the Bauhaus, lit facets, cut-outs after Matisse. */
import { type Color, gradientColor, mix, tone } from "../color.ts";
import { noise1 } from "../random.ts";
import { type Layer, scaledCount } from "../scene/stage.ts";
import { sway } from "../subjects/subject.ts";
import { blob, circle, curve, group, num, type Point, path, polygon, rect } from "../svg.ts";
import { type Composition, ground } from "./composition.ts";

/** Quarter circles, stripes and dots on a grid, after the Bauhaus. */
export const tiles: Composition = (stage, scheme) => {
  const { width, height, phase } = stage;
  const random = stage.random.fork("tiles");
  const across = random.integer(4, 6) + (stage.detail > 1.5 ? 1 : 0);
  const size =
    Math.max(width, height) /
    Math.ceil((Math.max(width, height) / Math.min(width, height)) * across);
  const cells: string[] = [];
  for (let row = 0; row * size < height; row++) {
    for (let column = 0; column * size < width; column++) {
      const [x, y] = [column * size, row * size];
      const [back, fore, third] = [
        random.pick([scheme.ground, ...scheme.accents]),
        random.pick(scheme.accents),
        random.pick(scheme.accents),
      ];
      const front = fore === back ? tone(fore, 0.16) : fore;
      const turn = random.integer(0, 3) * 90 + (random.chance(0.3) ? phase * 90 : 0);
      const inner = [
        `M0 0H${num(size)}A${num(size)} ${num(size)} 0 0 1 0 ${num(size)}Z`,
        `M0 ${num(size / 2)}A${num(size / 2)} ${num(size / 2)} 0 0 1 ${num(size)} ${num(size / 2)}Z`,
        `M0 0L${num(size)} 0L0 ${num(size)}Z`,
        `M0 0H${num(size)}V${num(size / 4)}H0ZM0 ${num(size / 2)}H${num(size)}V${num(size * 0.75)}H0Z`,
      ];
      const rings =
        circle(size / 2, size / 2, size * 0.4, front) +
        circle(size / 2, size / 2, size * 0.2, third);
      const quarters =
        path(inner[0] ?? "", front) +
        path(
          `M0 0H${num(size / 2)}A${num(size / 2)} ${num(size / 2)} 0 0 1 0 ${num(size / 2)}Z`,
          third,
        );
      const kinds = [...inner.map((d) => path(d, front)), rings, quarters];
      const shape = kinds[random.integer(0, 5)] ?? "";
      cells.push(
        group(
          { transform: `translate(${num(x)} ${num(y)})` },
          rect(0, 0, size + 0.6, size + 0.6, back),
          group({ transform: `rotate(${num(turn)} ${num(size / 2)} ${num(size / 2)})` }, shape),
        ),
      );
    }
  }
  const half = Math.floor(cells.length / 2);
  return [
    ground(stage, scheme),
    { name: "tiles one", svg: cells.slice(0, half).join("") },
    { name: "tiles two", svg: cells.slice(half).join("") },
  ];
};

/** Triangular facets in changing light. */
export const facets: Composition = (stage, scheme) => {
  const { width, height, phase } = stage;
  const random = stage.random.fork("facets");
  const step = 150 / Math.min(1.7, 0.6 + stage.detail * 0.4);
  const [columns, rows] = [Math.ceil(width / step) + 1, Math.ceil(height / step) + 1];
  const grid: Point[][] = Array.from({ length: rows + 1 }, (_, r) =>
    Array.from(
      { length: columns + 1 },
      (_, c) =>
        [
          (c - 0.5 + random.between(-0.34, 0.34)) * step,
          (r - 0.5 + random.between(-0.34, 0.34)) * step,
        ] as const,
    ),
  );
  const noise = noise1(random, 2);
  const shade = (a: Point, b: Point, c: Point): Color => {
    const [x, y] = [(a[0] + b[0] + c[0]) / 3 / width, (a[1] + b[1] + c[1]) / 3 / height];
    const lightness = Math.sin((x * 1.7 + y * 2.3 + phase) * Math.PI * 2) * 0.03;
    return tone(
      gradientColor(scheme.accents, 0.5 + noise(x * 1.6 + y * 1.2) * 0.34 + (y - 0.5) * 0.7),
      random.between(-0.06, 0.07) + lightness,
    );
  };
  const rowSvg = grid.slice(0, -1).map((line, r) =>
    line
      .slice(0, -1)
      .map((a, c) => {
        const [b, d, e] = [line[c + 1], grid[r + 1]?.[c], grid[r + 1]?.[c + 1]];
        if (b === undefined || d === undefined || e === undefined) return "";
        const triangle = (p: Point, q: Point, s: Point): string => {
          const color = shade(p, q, s);
          return path(polygon([p, q, s]), color, { stroke: color, "stroke-width": 1 });
        };
        return random.chance(0.5)
          ? triangle(a, b, d) + triangle(b, e, d)
          : triangle(a, b, e) + triangle(a, e, d);
      })
      .join(""),
  );
  const half = Math.ceil(rowSvg.length / 2);
  return [
    ground(stage, scheme),
    { name: "upper facets", svg: rowSvg.slice(0, half).join("") },
    { name: "lower facets", svg: rowSvg.slice(half).join("") },
  ];
};

/** Leaves, pebbles and algae cut from colored paper, after Matisse. */
export const cutouts: Composition = (stage, scheme) => {
  const { width, height, phase } = stage;
  const random = stage.random.fork("cutouts");
  const panels: string[] = [];
  const columns = random.integer(2, 3);
  for (let c = 0; c < columns; c++)
    for (let r = 0; r < 3; r++)
      panels.push(
        rect(
          (c * width) / columns - 1,
          (r * height) / 3 - 1,
          width / columns + 2,
          height / 3 + 2,
          mix(
            random.pick([scheme.ground, ...scheme.accents]),
            scheme.ground,
            random.between(0.1, 0.55),
          ),
        ),
      );
  const frond = (x: number, y: number, size: number, color: Color, turn: number): string => {
    const lobes = 7;
    const points: Point[] = [];
    for (let side = 1; side >= -1; side -= 2) {
      for (let i = 0; i <= lobes * 2; i++) {
        const t = (side > 0 ? i : lobes * 2 - i) / (lobes * 2);
        const reach = Math.sin(t * Math.PI) * size * 0.42 * (i % 2 ? 1 : 0.42);
        points.push([side * reach, -size / 2 + t * size]);
      }
    }
    return group(
      { transform: `translate(${num(x)} ${num(y)}) rotate(${num(turn)})` },
      path(curve(points, true, 1.3), color),
    );
  };
  const shapes = Array.from({ length: scaledCount(stage, 13) }, (_, i): Layer => {
    const color = random.pick(scheme.accents);
    const [x, y] = [
      width * (((i * 0.7549 + 0.1) % 1) * 0.9 + 0.05),
      height * (((i * 0.5698 + 0.3) % 1) * 0.9 + 0.05),
    ];
    const size = random.between(130, 300);
    const turn = random.between(0, 360) + sway(phase, i / 13) * 5;
    return {
      name: `cut ${i}`,
      svg: random.chance(0.62)
        ? frond(x, y, size, color, turn)
        : path(blob(random, x, y, size * 0.3, size * 0.24, 0.3, 8), color),
    };
  });
  return [ground(stage, scheme), { name: "panels", svg: panels.join("") }, ...shapes];
};
