/** Places the labels of a map so that none covers another label or a point. A label without room is left out. */
import type { Point } from "../../lib/viewport.ts";

export interface Label {
  /** Where its point is. */
  readonly at: Point;
  readonly width: number;
}

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

const height = 14;
const gap = 7;
const pointRadius = 4;

const overlap = (a: Box, b: Box): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/**
 * `labels`: the most important first. `points` and `taken`: what no label may cover. Returns the left end and the
 * vertical middle of each label, in the order of `labels`.
 */
export function placeLabels(
  labels: readonly Label[],
  points: readonly Point[],
  canvas: { readonly width: number; readonly height: number },
  taken: readonly Box[] = [],
): (Point | undefined)[] {
  const placed = [...taken];
  const covers = (box: Box, own: Point): boolean =>
    points.some(
      (point) =>
        point !== own &&
        overlap(box, {
          left: point.x - pointRadius,
          right: point.x + pointRadius,
          top: point.y - pointRadius,
          bottom: point.y + pointRadius,
        }),
    );
  return labels.map(({ at, width }) => {
    for (const box of boxesAround(at, width)) {
      const isInside =
        box.left >= 0 && box.right <= canvas.width && box.top >= 0 && box.bottom <= canvas.height;
      if (!isInside || placed.some((other) => overlap(box, other)) || covers(box, at)) continue;
      placed.push(box);
      return { x: box.left, y: (box.top + box.bottom) / 2 };
    }
    return undefined;
  });
}

/** Right of the point, left of it, above it and below it. */
function boxesAround({ x, y }: Point, width: number): Box[] {
  const box = (left: number, top: number): Box => ({
    left,
    top,
    right: left + width,
    bottom: top + height,
  });
  return [
    box(x + gap, y - height / 2),
    box(x - gap - width, y - height / 2),
    box(x - width / 2, y - gap - height),
    box(x - width / 2, y + gap),
  ];
}
