/** Paints the mask of an image edit: brush, eraser, invert, undo and redo, zoom and pan, with mouse, pen and touch. */
import { type PointerEvent, useCallback, useEffect, useRef, useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { drawSteps } from "./draw-mask.ts";
import {
  addStep,
  type MaskHistory,
  type MaskStep,
  type Point,
  redo,
  undo,
} from "./mask-history.ts";
import { fit, pan, toImage, type Viewport, zoom } from "./viewport.ts";

interface MaskPainterProps {
  readonly image: ImageBitmap;
  readonly history: MaskHistory;
  readonly onChange: (history: MaskHistory) => void;
}

const wheelZoom = 1.1;
const buttonZoom = 1.5;

export function MaskPainter({ image, history, onChange }: MaskPainterProps) {
  const t = useT();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [viewport, setViewport] = useState<Viewport>();
  const [brushSize, setBrushSize] = useState(() => Math.round(image.width / 12));
  const [erases, setErases] = useState(false);
  const [stroke, setStroke] = useState<readonly Point[]>();

  const current: MaskStep | undefined = stroke && {
    type: "stroke",
    points: stroke,
    size: brushSize,
    erases,
  };

  const reset = useCallback(() => {
    const { clientWidth: width = 0, clientHeight: height = 0 } = canvas.current ?? {};
    if (width > 0) setViewport(fit(image, { width, height }));
  }, [image]);
  useEffect(() => {
    // Reports the size at first, and when the window or the phone is turned.
    const observer = new ResizeObserver(reset);
    if (canvas.current) observer.observe(canvas.current);
    return () => observer.disconnect();
  }, [reset]);

  useEffect(() => {
    if (canvas.current && viewport)
      draw(canvas.current, image, viewport, current ? [...history.steps, current] : history.steps);
  });

  const minScale = viewport ? Math.min(viewport.scale, 0.05) : 0.05;
  const zoomCenter = (factor: number): void => {
    const { clientWidth = 0, clientHeight = 0 } = canvas.current ?? {};
    const center = { x: clientWidth / 2, y: clientHeight / 2 };
    if (viewport) setViewport(zoom(viewport, center, factor, minScale));
  };
  const gestures = useGestures({
    viewport,
    minScale,
    onViewport: setViewport,
    onStroke: setStroke,
    onStrokeEnd: (points) => {
      setStroke(undefined);
      onChange(addStep(history, { type: "stroke", points, size: brushSize, erases }));
    },
  });

  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <Button size="small" aria-pressed={!erases} onClick={() => setErases(false)}>
          {t("mask.brush")}
        </Button>
        <Button size="small" aria-pressed={erases} onClick={() => setErases(true)}>
          {t("mask.eraser")}
        </Button>
        <label className="flex items-center gap-1 text-xs text-muted">
          {t("mask.size")}
          <input
            type="range"
            min={1}
            max={Math.max(2, Math.round(image.width / 2))}
            value={brushSize}
            onChange={(event) => setBrushSize(Number(event.target.value))}
          />
        </label>
        <Button size="small" onClick={() => onChange(addStep(history, { type: "invert" }))}>
          {t("mask.invert")}
        </Button>
        <Button size="small" onClick={() => onChange(addStep(history, { type: "clear" }))}>
          {t("mask.clear")}
        </Button>
        <Button
          size="small"
          disabled={history.steps.length === 0}
          onClick={() => onChange(undo(history))}
        >
          {t("mask.undo")}
        </Button>
        <Button
          size="small"
          disabled={history.undone.length === 0}
          onClick={() => onChange(redo(history))}
        >
          {t("mask.redo")}
        </Button>
        <Button size="small" aria-label={t("mask.zoomIn")} onClick={() => zoomCenter(buttonZoom)}>
          +
        </Button>
        <Button
          size="small"
          aria-label={t("mask.zoomOut")}
          onClick={() => zoomCenter(1 / buttonZoom)}
        >
          −
        </Button>
        <Button size="small" onClick={reset}>
          {t("mask.fit")}
        </Button>
      </div>
      <canvas
        ref={canvas}
        aria-label={t("mask.canvas")}
        className="h-96 w-full touch-none rounded-md border border-line bg-sunken"
        {...gestures}
      />
      <p className="text-xs text-muted">{t("mask.help")}</p>
    </div>
  );
}

/** The image with the painted areas tinted. */
function draw(
  canvas: HTMLCanvasElement,
  image: ImageBitmap,
  viewport: Viewport,
  steps: readonly MaskStep[],
): void {
  const ratio = devicePixelRatio;
  canvas.width = canvas.clientWidth * ratio;
  canvas.height = canvas.clientHeight * ratio;
  const context = canvas.getContext("2d");
  const layer = new OffscreenCanvas(image.width, image.height).getContext("2d");
  if (!context || !layer) return;
  layer.fillStyle = layer.strokeStyle = "#ff2d78";
  drawSteps(layer, steps);
  context.scale(ratio, ratio);
  context.translate(viewport.left, viewport.top);
  context.scale(viewport.scale, viewport.scale);
  context.drawImage(image, 0, 0);
  context.globalAlpha = 0.55;
  context.drawImage(layer.canvas, 0, 0);
}

interface GestureOptions {
  readonly viewport: Viewport | undefined;
  readonly minScale: number;
  readonly onViewport: (viewport: Viewport) => void;
  readonly onStroke: (points: readonly Point[] | undefined) => void;
  readonly onStrokeEnd: (points: readonly Point[]) => void;
}

/** One pointer paints. Two fingers, the middle button, or the wheel zoom and pan. */
function useGestures({ viewport, minScale, onViewport, onStroke, onStrokeEnd }: GestureOptions) {
  const pointers = useRef(new Map<number, Point>());
  const points = useRef<Point[]>([]);
  const isPanning = useRef(false);

  const onPointerDown = (event: PointerEvent<HTMLCanvasElement>): void => {
    event.currentTarget.setPointerCapture(event.pointerId);
    pointers.current.set(event.pointerId, positionOf(event));
    const pans = event.button === 1 || pointers.current.size > 1;
    if (pans) {
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

  const onWheel = (event: React.WheelEvent<HTMLCanvasElement>): void => {
    if (!viewport) return;
    const factor = event.deltaY < 0 ? wheelZoom : 1 / wheelZoom;
    onViewport(zoom(viewport, positionOf(event), factor, minScale));
  };

  return { onPointerDown, onPointerMove, onPointerUp, onPointerCancel, onWheel };
}

const positionOf = (event: React.MouseEvent<HTMLCanvasElement>): Point => {
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
