/** The part of an image or a drawing that a canvas shows. At first, and when its size changes, it shows all of it. */
import { type RefObject, useCallback, useEffect, useMemo, useState } from "react";
import { fitInto, type ScaleLimits, type Viewport, zoom } from "./viewport.ts";

const buttonZoom = 1.5;
/** CSS pixels per unit of the content. */
const maxScale = 16;
const [furthestOut, furthestIn] = [0.5, 8];

export interface PanZoom {
  /** Undefined if the size of the canvas is not known yet. */
  readonly viewport: Viewport | undefined;
  readonly setViewport: (viewport: Viewport) => void;
  readonly limits: ScaleLimits;
  readonly zoomIn: () => void;
  readonly zoomOut: () => void;
  readonly reset: () => void;
}

/** `width` and `height`: of the content. */
export function usePanZoom(
  canvas: RefObject<HTMLCanvasElement | null>,
  width: number,
  height: number,
): PanZoom {
  const [viewport, setViewport] = useState<Viewport>();
  const [fitted, setFitted] = useState(1);
  const reset = useCallback(() => {
    const { clientWidth = 0, clientHeight = 0 } = canvas.current ?? {};
    if (clientWidth === 0) return;
    const fit = fitInto({ width, height }, { width: clientWidth, height: clientHeight });
    setFitted(fit.scale);
    setViewport(fit);
  }, [canvas, width, height]);
  useEffect(() => {
    // Reports the size at first, when the window is resized, and when a phone is rotated.
    const observer = new ResizeObserver(reset);
    if (canvas.current) observer.observe(canvas.current);
    return () => observer.disconnect();
  }, [canvas, reset]);
  const limits = useMemo(
    () => ({ min: fitted * furthestOut, max: Math.max(maxScale, fitted * furthestIn) }),
    [fitted],
  );
  const zoomCenter = (factor: number) => (): void => {
    const { clientWidth = 0, clientHeight = 0 } = canvas.current ?? {};
    const center = { x: clientWidth / 2, y: clientHeight / 2 };
    if (viewport) setViewport(zoom(viewport, center, factor, limits));
  };
  return {
    viewport,
    setViewport,
    limits,
    zoomIn: zoomCenter(buttonZoom),
    zoomOut: zoomCenter(1 / buttonZoom),
    reset,
  };
}
