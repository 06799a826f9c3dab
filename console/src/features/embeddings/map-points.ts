/** The coordinates of the points of a map. */
import { type Point, toCanvas, type Viewport } from "../../lib/viewport.ts";
import { type MapPoint, thumbnailSize, worldSize } from "./draw-map.ts";
import type { Point as Projected } from "./vector-worker.ts";

const margin = 60;
/** Of a dot, in CSS pixels: larger than the dot, so that it is easy to point at. */
const reach = 12;

/** The points of the projection in the square of the map, with a margin. */
export function worldPoints(points: readonly Projected[]): Point[] {
  const x = scale(points.map((point) => point[0]));
  const y = scale(points.map((point) => point[1]));
  return points.map((point) => ({ x: x(point[0]), y: y(point[1]) }));
}

function scale(values: readonly number[]): (value: number) => number {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (high === low) return () => worldSize / 2;
  return (value) => margin + ((value - low) / (high - low)) * (worldSize - 2 * margin);
}

/** The point under the pointer, which is at `at` on the canvas. */
export function nearestPoint(
  points: readonly MapPoint[],
  viewport: Viewport,
  at: Point,
): number | undefined {
  let [nearest, least]: [number | undefined, number] = [undefined, Number.POSITIVE_INFINITY];
  for (const [index, point] of points.entries()) {
    const { x, y } = toCanvas(viewport, point.at);
    const distance = Math.hypot(x - at.x, y - at.y);
    if (distance >= least || distance > (point.image ? thumbnailSize / 2 : reach)) continue;
    [nearest, least] = [index, distance];
  }
  return nearest;
}
