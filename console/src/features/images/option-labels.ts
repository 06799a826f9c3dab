/** The options of the images API in words. The pages show the API's name as a tooltip. */
import type { Translate } from "../../i18n/messages.ts";

const optionNames = [
  "size",
  "quality",
  "n",
  "output_format",
  "background",
  "style",
  "partial_images",
  "output_compression",
  "moderation",
  "input_fidelity",
  "complexity",
  "frame_count",
  "frame_duration_ms",
] as const;

/** An option that only some vendor has keeps the API's name. */
export function optionLabel(name: string, t: Translate): string {
  const known = optionNames.find((each) => each === name);
  return known === undefined ? name : t(`images.option.${known}`);
}

const words = [
  "auto",
  "low",
  "medium",
  "high",
  "standard",
  "hd",
  "transparent",
  "opaque",
  "vivid",
  "natural",
] as const;

const formats: ReadonlySet<string> = new Set(["png", "jpeg", "webp", "gif", "svg", "avif"]);

/** The empty value is that of the model. */
export function valueLabel(value: string, t: Translate): string {
  if (value === "") return t("images.default");
  if (formats.has(value)) return value.toUpperCase();
  const word = words.find((each) => each === value);
  return word === undefined ? sizeLabel(value, t) : t(`images.value.${word}`);
}

const ratios = ["1:1", "5:4", "4:3", "3:2", "16:9", "2:1", "21:9"] as const;
/** Vendors round the sides of an image: 1344 × 768 is 16:9. */
const tolerance = 0.03;

/** Such as `Landscape 3:2 · 1536 × 1024` for `1536x1024`. Any other text stays as it is. */
function sizeLabel(value: string, t: Translate): string {
  const [, first, separator, second] = /^(\d+)([x:])(\d+)$/.exec(value) ?? [];
  const [width, height] = [Number(first), Number(second)];
  if (!(width > 0 && height > 0)) return value;
  const long = Math.max(width, height) / Math.min(width, height);
  const ratio = ratios.find((each) => Math.abs(quotientOf(each) / long - 1) < tolerance);
  const isUpright = height > width;
  const pixels = separator === "x" ? ` · ${width} × ${height}` : "";
  if (width === height) return `${t("images.shape.square")}${pixels}`;
  const shape = t(isUpright ? "images.shape.portrait" : "images.shape.landscape");
  const sides = isUpright ? ratio?.split(":").reverse().join(":") : ratio;
  return `${[shape, sides].filter(Boolean).join(" ")}${pixels}`;
}

function quotientOf(ratio: string): number {
  const [width = 1, height = 1] = ratio.split(":").map(Number);
  return width / height;
}
