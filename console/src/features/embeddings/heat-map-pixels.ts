/** The colors of similarities as pixels: red is the lowest byte, and opacity the highest. */
import { viridis } from "./viridis.ts";

/** Of 256 similarities from 0 to 1. */
const colors = Uint32Array.from({ length: 256 }, (_, at) => {
  const [red, green, blue] = viridis(at / 255);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
});

export function pixelsOf(similarities: Float32Array): Uint32Array<ArrayBuffer> {
  const pixels = new Uint32Array(similarities.length);
  for (let at = 0; at < pixels.length; at++) {
    const share = Math.min(1, Math.max(0, similarities[at] as number));
    pixels[at] = colors[Math.round(share * (colors.length - 1))] as number;
  }
  return pixels;
}
