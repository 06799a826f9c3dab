/** Pointer, touch and wheel input of the mask painter: strokes, zoom and pan. */
import { type PointerEvent, type RefObject, useEffect, useRef } from "react";
import type { Point } from "./mask-history.ts";
import { pan, toImage, type Viewport, zoom } from "./viewport.ts";

const wheelZoom = 1.1;

interface GestureOptions {
  readonly canvas: RefObject<HTMLCanvasElement | null>;
  /** The pan tool is chosen: one pointer pans, and does not paint. */
  readonly pans: boolean;
  readonly viewport: Viewport | undefined;
  readonly minScale: number;
  readonly onViewport: (viewport: Viewport) => void;
  readonly onStroke: (points: readonly Point[] | undefined) => void;
  readonly onStrokeEnd: (points: readonly Point[]) => void;
}

/** One pointer paints. The wheel and two fingers zoom; the pan tool, the middle button and two fingers pan. */
export function useGestures(options: GestureOptions) {
  const { canvas, pans, viewport, minScale, onViewport, onStroke, onStrokeEnd } = options;
  const pointers = useRef(new Map<number, Point>());
  const points = useRef<Point[]>([]);
  const isPanning = useRef(false);

  const onPointerDown = (event: PointerEvent<HTMLCanvasElement>): void => {
    event.currentTarget.setPointerCapture(event.pointerId);
    pointers.current.set(event.pointerId, positionOf(event));
    if (pans || event.button === 1 || pointers.current.size > 1) {
      // A second finger turns a stroke that has begun into a gesture.
      isPanning.current = true;
      points.current = [];
      onStroke(undefined);
    } else if (viewport && event.button === 0) {
      points.current = [toImage(viewport, positionOf(event))];
      onStroke(points.current);
    }
  };

  const onPointerMove = (event: PointerEvent<HTMLCanvasElement>): void => {
    const before = pointers.current.get(event.pointerId);
    if (!before || !viewport) return;
    const at = positionOf(event);
    if (isPanning.current) {
      onViewport(panOrPinch(viewport, pointers.current, event.pointerId, at, minScale));
    } else if (points.current.length > 0) {
      points.current = [...points.current, toImage(viewport, at)];
      onStroke(points.current);
    }
    pointers.current.set(event.pointerId, at);
  };

  const onPointerUp = (event: PointerEvent<HTMLCanvasElement>): void => {
    pointers.current.delete(event.pointerId);
    if (points.current.length > 0) onStrokeEnd(points.current);
    points.current = [];
    if (pointers.current.size === 0) isPanning.current = false;
  };

  /** The browser has taken the touch for another gesture: what was painted is discarded. */
  const onPointerCancel = (event: PointerEvent<HTMLCanvasElement>): void => {
    points.current = [];
    onStroke(undefined);
    onPointerUp(event);
  };

  // React's wheel listeners are passive: they cannot keep the page from scrolling.
  useEffect(() => {
    const element = canvas.current;
    if (!element || !viewport) return;
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      const { left, top } = element.getBoundingClientRect();
      const at = { x: event.clientX - left, y: event.clientY - top };
      const factor = event.deltaY < 0 ? wheelZoom : 1 / wheelZoom;
      onViewport(zoom(viewport, at, factor, minScale));
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [canvas, viewport, minScale, onViewport]);

  return { onPointerDown, onPointerMove, onPointerUp, onPointerCancel };
}

const positionOf = (event: PointerEvent<HTMLCanvasElement>): Point => {
  const { left, top } = event.currentTarget.getBoundingClientRect();
  return { x: event.clientX - left, y: event.clientY - top };
};

/** One pointer pans; of two, the distance between them zooms. */
function panOrPinch(
  viewport: Viewport,
  pointers: ReadonlyMap<number, Point>,
  movedId: number,
  to: Point,
  minScale: number,
): Viewport {
  const from = pointers.get(movedId) ?? to;
  const other = [...pointers].find(([id]) => id !== movedId)?.[1];
  if (!other) return pan(viewport, to.x - from.x, to.y - from.y);
  const factor = distance(to, other) / Math.max(1, distance(from, other));
  const middle = { x: (to.x + other.x) / 2, y: (to.y + other.y) / 2 };
  return pan(zoom(viewport, middle, factor, minScale), (to.x - from.x) / 2, (to.y - from.y) / 2);
}

const distance = (a: Point, b: Point): number => Math.hypot(a.x - b.x, a.y - b.y);
