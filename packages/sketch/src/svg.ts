/** Builds SVG text: shapes, smooth curves, gradient definitions. No function here gets text of the prompt. */
import type { Color } from "./color.ts";
import type { Random } from "./random.ts";

export type Point = readonly [x: number, y: number];
export type Stop = readonly [offset: number, color: Color, opacity?: number];

/** One decimal keeps the text of large scenes short: a tenth of a unit is less than a pixel. */
export const num = (value: number): string => {
  const short = Math.round(value * 10) / 10;
  return Object.is(short, -0) ? "0" : String(short);
};
export const preciseNum = (value: number): string => String(Math.round(value * 1000) / 1000);

export type Attributes = Readonly<Record<string, string | number | undefined>>;

export function el(name: string, attributes: Attributes, ...children: readonly string[]): string {
  let text = `<${name}`;
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined)
      text += ` ${key}="${typeof value === "number" ? preciseNum(value) : value}"`;
  }
  return children.length === 0 ? `${text}/>` : `${text}>${children.join("")}</${name}>`;
}

export const group = (attributes: Attributes, ...children: readonly string[]): string =>
  el("g", attributes, ...children, "");

export const path = (d: string, fill: string, attributes: Attributes = {}): string =>
  el("path", { d, fill, ...attributes });
export const circle = (
  x: number,
  y: number,
  r: number,
  fill: string,
  more: Attributes = {},
): string => el("circle", { cx: num(x), cy: num(y), r: num(r), fill, ...more });
export const ellipse = (
  x: number,
  y: number,
  rx: number,
  ry: number,
  fill: string,
  more: Attributes = {},
): string => el("ellipse", { cx: num(x), cy: num(y), rx: num(rx), ry: num(ry), fill, ...more });
export const rect = (
  x: number,
  y: number,
  width: number,
  height: number,
  fill: string,
  more: Attributes = {},
): string =>
  el("rect", { x: num(x), y: num(y), width: num(width), height: num(height), fill, ...more });
/** A path with a round-ended stroke and no fill. */
export const stroke = (d: string, color: string, width: number, more: Attributes = {}): string =>
  el("path", {
    d,
    fill: "none",
    stroke: color,
    "stroke-width": preciseNum(width),
    "stroke-linecap": "round",
    "stroke-linejoin": "round",
    ...more,
  });

export const polygon = (points: readonly Point[]): string =>
  `M${points.map(([x, y]) => `${num(x)} ${num(y)}`).join("L")}Z`;
export const polyline = (points: readonly Point[]): string =>
  `M${points.map(([x, y]) => `${num(x)} ${num(y)}`).join("L")}`;

/** A Catmull-Rom spline through all points, as cubic Bézier curves. */
export function curve(points: readonly Point[], closed = false, tension = 1): string {
  const count = points.length;
  const at = (i: number): Point =>
    points[closed ? ((i % count) + count) % count : Math.min(count - 1, Math.max(0, i))] ?? [0, 0];
  const first = at(0);
  let d = `M${num(first[0])} ${num(first[1])}`;
  for (let i = 0; i < (closed ? count : count - 1); i++) {
    const [a, b, c, e] = [at(i - 1), at(i), at(i + 1), at(i + 2)];
    const k = tension / 6;
    d += `C${num(b[0] + (c[0] - a[0]) * k)} ${num(b[1] + (c[1] - a[1]) * k)} ${num(c[0] - (e[0] - b[0]) * k)} ${num(c[1] - (e[1] - b[1]) * k)} ${num(c[0])} ${num(c[1])}`;
  }
  return closed ? `${d}Z` : d;
}

/** A closed, slightly irregular curve around a center. */
export function blob(
  random: Random,
  x: number,
  y: number,
  rx: number,
  ry: number,
  wobble = 0.12,
  points = 9,
): string {
  const start = random.between(0, Math.PI * 2);
  return curve(
    Array.from({ length: points }, (_, i) => {
      const angle = start + (i / points) * Math.PI * 2;
      const reach = 1 + random.between(-wobble, wobble);
      return [x + Math.cos(angle) * rx * reach, y + Math.sin(angle) * ry * reach] as const;
    }),
    true,
  );
}

/** The `<defs>` of an image: gradients and clip paths. Ids are counted, so that the same scene gives the same text. */
export interface SvgDefs {
  /** Runs from top to bottom of the filled shape, unless a direction is given. */
  linear(stops: readonly Stop[], direction?: readonly [number, number, number, number]): string;
  /** Runs from top to bottom in image coordinates, for shapes whose colors must match. */
  vertical(stops: readonly Stop[], top: number, bottom: number): string;
  radial(stops: readonly Stop[], focus?: readonly [cx: number, cy: number, r: number]): string;
  clip(content: string): string;
  toSvg(): string;
}

export function createDefs(): SvgDefs {
  const known = new Map<string, string>();
  const defined: string[] = [];
  const stopText = (stops: readonly Stop[]): string =>
    stops
      .map(([offset, color, opacity]) =>
        el("stop", { offset: preciseNum(offset), "stop-color": color, "stop-opacity": opacity }),
      )
      .join("");
  const register = (name: string, attributes: Attributes, inner: string): string => {
    const key = JSON.stringify([name, attributes, inner]);
    const before = known.get(key);
    if (before !== undefined) return before;
    const id = `d${defined.length}`;
    defined.push(el(name, { id, ...attributes }, inner));
    const reference = `url(#${id})`;
    known.set(key, reference);
    return reference;
  };
  return {
    linear: (stops, [x1, y1, x2, y2] = [0, 0, 0, 1]) =>
      register("linearGradient", { x1, y1, x2, y2 }, stopText(stops)),
    vertical: (stops, top, bottom) =>
      register(
        "linearGradient",
        { gradientUnits: "userSpaceOnUse", x1: 0, x2: 0, y1: num(top), y2: num(bottom) },
        stopText(stops),
      ),
    radial: (stops, [cx, cy, r] = [0.5, 0.5, 0.5]) =>
      register("radialGradient", { cx, cy, r }, stopText(stops)),
    clip: (content) => register("clipPath", {}, content),
    toSvg: () => defined.join(""),
  };
}
