/** Pointer, touch and wheel input of a canvas: strokes, zoom and pan. */
import { type PointerEvent, type RefObject, useEffect, useRef } from "react";
import { type Point, pan, type ScaleLimits, toImage, type Viewport, zoom } from "./viewport.ts";

const wheelZoom = 1.1;

interface GestureOptions {
  readonly canvas: RefObject<HTMLCanvasElement | null>;
  /** One pointer pans, and does not paint. */
  readonly pans: boolean;
  /** The wheel scrolls the page, unless the canvas has the focus or Ctrl is pressed. */
  readonly leavesWheel?: boolean;
  readonly viewport: Viewport | undefined;
  readonly limits: ScaleLimits;
  readonly onViewport: (viewport: Viewport) => void;
  readonly onStroke?: (points: readonly Point[] | undefined) => void;
  readonly onStrokeEnd?: (points: readonly Point[]) => void;
  /** A pointer without a pressed button is at this point of the canvas. Undefined if it is elsewhere, or pressed. */
  readonly onHover?: (at: Point | undefined) => void;
  /** A click, or a touch that does not move. */
  readonly onTap?: (at: Point) => void;
}

/** A pointer that moves further has panned. */
const tapDistance = 4;

/** One pointer paints. The wheel and two fingers zoom; the pan tool, the middle button and two fingers pan. */
export function useGestures(options: GestureOptions) {
  const { canvas, pans, leavesWheel = false, viewport, limits, onViewport } = options;
  const { onStroke, onStrokeEnd, onHover, onTap } = options;
  const pressedAt = useRef<Point>(null);
  const pointers = useRef(new Map<number, Point>());
  const points = useRef<Point[]>([]);
  const isPanning = useRef(false);

  const onPointerDown = (event: PointerEvent<HTMLCanvasElement>): void => {
    event.currentTarget.setPointerCapture(event.pointerId);
    pointers.current.set(event.pointerId, positionOf(event));
    pressedAt.current = positionOf(event);
    onHover?.(undefined);
    if (pans || event.button === 1 || pointers.current.size > 1) {
      // A second finger turns a stroke that has begun into a gesture.
      isPanning.current = true;
      points.current = [];
      onStroke?.(undefined);
    } else if (viewport && event.button === 0) {
      points.current = [toImage(viewport, positionOf(event))];
      onStroke?.(points.current);
    }
  };

  const onPointerMove = (event: PointerEvent<HTMLCanvasElement>): void => {
    const at = positionOf(event);
    if (pointers.current.size === 0) onHover?.(at);
    if (!pointers.current.has(event.pointerId) || !viewport) return;
    if (isPanning.current) {
      onViewport(panOrPinch(viewport, pointers.current, event.pointerId, at, limits));
    } else if (points.current.length > 0) {
      points.current = [...points.current, toImage(viewport, at)];
      onStroke?.(points.current);
    }
    pointers.current.set(event.pointerId, at);
  };

  const onPointerUp = (event: PointerEvent<HTMLCanvasElement>): void => {
    const at = positionOf(event);
    const isTap = pressedAt.current && distance(at, pressedAt.current) < tapDistance;
    pointers.current.delete(event.pointerId);
    if (isTap && pointers.current.size === 0) onTap?.(at);
    if (points.current.length > 0) onStrokeEnd?.(points.current);
    points.current = [];
    if (pointers.current.size === 0) isPanning.current = false;
  };

  /** The browser has taken the touch for another gesture: what was painted is discarded. */
  const onPointerCancel = (event: PointerEvent<HTMLCanvasElement>): void => {
    points.current = [];
    pressedAt.current = null;
    onStroke?.(undefined);
    onPointerUp(event);
  };

  // React's wheel listeners are passive: they cannot keep the page from scrolling.
  useEffect(() => {
    const element = canvas.current;
    if (!element || !viewport) return;
    const onWheel = (event: WheelEvent): void => {
      const isMeant = event.ctrlKey || document.activeElement === element;
      if (leavesWheel && !isMeant) return;
      event.preventDefault();
      const { left, top } = element.getBoundingClientRect();
      const at = { x: event.clientX - left, y: event.clientY - top };
      const factor = event.deltaY < 0 ? wheelZoom : 1 / wheelZoom;
      onViewport(zoom(viewport, at, factor, limits));
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [canvas, viewport, limits, leavesWheel, onViewport]);

  const onPointerLeave = (): void => onHover?.(undefined);

  return { onPointerDown, onPointerMove, onPointerUp, onPointerCancel, onPointerLeave };
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
  limits: ScaleLimits,
): Viewport {
  const from = pointers.get(movedId) ?? to;
  const other = [...pointers].find(([id]) => id !== movedId)?.[1];
  if (!other) return pan(viewport, to.x - from.x, to.y - from.y);
  const factor = distance(to, other) / Math.max(1, distance(from, other));
  const middle = { x: (to.x + other.x) / 2, y: (to.y + other.y) / 2 };
  return pan(zoom(viewport, middle, factor, limits), (to.x - from.x) / 2, (to.y - from.y) / 2);
}

const distance = (a: Point, b: Point): number => Math.hypot(a.x - b.x, a.y - b.y);
