/** Zoom and pan: which part of an image a canvas shows. Coordinates of the canvas are CSS pixels. */
import type { Point } from "./mask-history.ts";

export interface Viewport {
  /** CSS pixels per image pixel. */
  readonly scale: number;
  /** Where the top left corner of the image is on the canvas. */
  readonly left: number;
  readonly top: number;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

const maxScale = 16;

/** The whole image, centered. */
export function fitInto(image: Size, canvas: Size): Viewport {
  const scale = Math.min(canvas.width / image.width, canvas.height / image.height);
  return {
    scale,
    left: (canvas.width - image.width * scale) / 2,
    top: (canvas.height - image.height * scale) / 2,
  };
}

export const toImage = ({ scale, left, top }: Viewport, { x, y }: Point): Point => ({
  x: (x - left) / scale,
  y: (y - top) / scale,
});

/** The point under the pointer stays where it is. */
export function zoom(viewport: Viewport, at: Point, factor: number, minScale: number): Viewport {
  const scale = Math.min(maxScale, Math.max(minScale, viewport.scale * factor));
  const { x, y } = toImage(viewport, at);
  return { scale, left: at.x - x * scale, top: at.y - y * scale };
}

export const pan = (viewport: Viewport, dx: number, dy: number): Viewport => ({
  ...viewport,
  left: viewport.left + dx,
  top: viewport.top + dy,
});
