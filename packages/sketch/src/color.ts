/** Colors as #rrggbb. They are mixed in OKLab, so that gradients have no gray middle and shades keep their hue. */

export type Color = string;
type Triple = [number, number, number];

const toLinear = (v: number): number => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const fromLinear = (v: number): number =>
  v <= 0.0031308 ? v * 12.92 : 1.055 * v ** (1 / 2.4) - 0.055;
const clamp = (v: number, low = 0, high = 1): number => Math.min(high, Math.max(low, v));

export function toRgb(color: Color): Triple {
  const value = Number.parseInt(color.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

export function fromRgb(r: number, g: number, b: number): Color {
  const byte = (v: number): string =>
    Math.round(clamp(v, 0, 255))
      .toString(16)
      .padStart(2, "0");
  return `#${byte(r)}${byte(g)}${byte(b)}`;
}

function toLab(color: Color): Triple {
  const [r, g, b] = toRgb(color).map((v) => toLinear(v / 255)) as Triple;
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function fromLab([L, A, B]: Triple): Color {
  const l = (L + 0.3963377774 * A + 0.2158037573 * B) ** 3;
  const m = (L - 0.1055613458 * A - 0.0638541728 * B) ** 3;
  const s = (L - 0.0894841775 * A - 1.291485548 * B) ** 3;
  const channel = (v: number): number => fromLinear(clamp(v)) * 255;
  return fromRgb(
    channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    channel(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  );
}

export function mix(a: Color, b: Color, t: number): Color {
  const [from, to] = [toLab(a), toLab(b)];
  const k = clamp(t);
  return fromLab(from.map((v, i) => v + ((to[i] ?? v) - v) * k) as Triple);
}

/** A color in colored light: both are multiplied. */
export function multiply(a: Color, b: Color): Color {
  const [x, y] = [toRgb(a), toRgb(b)];
  return fromRgb((x[0] * y[0]) / 255, (x[1] * y[1]) / 255, (x[2] * y[2]) / 255);
}

export interface Lch {
  /** From 0 (black) to 1 (white). */
  readonly lightness: number;
  /** From 0 (gray) to about 0.3. */
  readonly chroma: number;
  /** In degrees. */
  readonly hue: number;
}

export function toLch(color: Color): Lch {
  const [lightness, a, b] = toLab(color);
  return { lightness, chroma: Math.hypot(a, b), hue: (Math.atan2(b, a) * 180) / Math.PI };
}

export function fromLch({ lightness, chroma, hue }: Lch): Color {
  const angle = (hue * Math.PI) / 180;
  return fromLab([clamp(lightness), chroma * Math.cos(angle), chroma * Math.sin(angle)]);
}

/** Makes a color lighter (positive) or darker (negative) with the same hue. */
export const tone = (color: Color, by: number): Color => {
  const { lightness, chroma, hue } = toLch(color);
  return fromLch({ lightness: lightness + by, chroma: chroma * (1 - Math.abs(by) * 0.35), hue });
};

export const saturate = (color: Color, factor: number): Color => {
  const lch = toLch(color);
  return fromLch({ ...lch, chroma: lch.chroma * factor });
};

export const turnHue = (color: Color, degrees: number): Color => {
  const lch = toLch(color);
  return fromLch({ ...lch, hue: lch.hue + degrees });
};

export const withLightness = (color: Color, lightness: number): Color =>
  fromLch({ ...toLch(color), lightness });

/** The color at `t` (0..1) on a gradient of these colors. */
export function gradientColor(colors: readonly Color[], t: number): Color {
  const last = colors.length - 1;
  const position = clamp(t) * last;
  const index = Math.min(Math.floor(position), last - 1);
  const from = colors[Math.max(0, index)] ?? "#000000";
  return mix(from, colors[index + 1] ?? from, position - index);
}
