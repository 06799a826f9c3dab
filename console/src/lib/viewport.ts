/** Zoom and pan: which part of an image or a drawing a canvas shows. Coordinates of the canvas are CSS pixels. */

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Viewport {
  /** CSS pixels per image pixel. */
  readonly scale: number;
  /** Where the top left corner of the image is on the canvas. */
  readonly left: number;
  readonly top: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface ScaleLimits {
  readonly min: number;
  readonly max: number;
}

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

export const toCanvas = ({ scale, left, top }: Viewport, { x, y }: Point): Point => ({
  x: x * scale + left,
  y: y * scale + top,
});

/** The point under the pointer stays where it is. */
export function zoom(
  viewport: Viewport,
  at: Point,
  factor: number,
  { min, max }: ScaleLimits,
): Viewport {
  const scale = Math.min(max, Math.max(min, viewport.scale * factor));
  const { x, y } = toImage(viewport, at);
  return { scale, left: at.x - x * scale, top: at.y - y * scale };
}

export const pan = (viewport: Viewport, dx: number, dy: number): Viewport => ({
  ...viewport,
  left: viewport.left + dx,
  top: viewport.top + dy,
});
