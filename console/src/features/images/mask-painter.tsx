/** Paints the mask of an image edit: brush, eraser, invert, undo and redo, zoom and pan, with mouse, pen and touch. */
import { useEffect, useRef, useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { saveFile } from "../../lib/save-file.ts";
import { useGestures } from "../../lib/use-gestures.ts";
import { usePanZoom } from "../../lib/use-pan-zoom.ts";
import type { Point, Viewport } from "../../lib/viewport.ts";
import { Button } from "../../ui/button.tsx";
import { drawSteps, exportMask } from "./draw-mask.ts";
import { addStep, type MaskHistory, type MaskStep, redo, undo } from "./mask-history.ts";

interface MaskPainterProps {
  readonly image: ImageBitmap;
  readonly history: MaskHistory;
  readonly onChange: (history: MaskHistory) => void;
}

type Tool = "brush" | "eraser" | "pan";

const tools: readonly Tool[] = ["brush", "eraser", "pan"];

export function MaskPainter({ image, history, onChange }: MaskPainterProps) {
  const t = useT();
  const canvas = useRef<HTMLCanvasElement>(null);
  const panZoom = usePanZoom(canvas, image.width, image.height);
  const { viewport } = panZoom;
  const [brushSize, setBrushSize] = useState(() => Math.round(image.width / 12));
  const [tool, setTool] = useState<Tool>("brush");
  const [stroke, setStroke] = useState<readonly Point[]>();

  const erases = tool === "eraser";
  const current: MaskStep | undefined = stroke && {
    type: "stroke",
    points: stroke,
    size: brushSize,
    erases,
  };

  useEffect(() => {
    if (canvas.current && viewport)
      draw(canvas.current, image, viewport, current ? [...history.steps, current] : history.steps);
  });

  useUndoKeys(history, onChange);
  const gestures = useGestures({
    canvas,
    pans: tool === "pan",
    viewport,
    limits: panZoom.limits,
    onViewport: panZoom.setViewport,
    onStroke: setStroke,
    onStrokeEnd: (points) => {
      setStroke(undefined);
      onChange(addStep(history, { type: "stroke", points, size: brushSize, erases }));
    },
  });

  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        {tools.map((each) => (
          <Button
            key={each}
            size="small"
            aria-pressed={tool === each}
            onClick={() => setTool(each)}
          >
            {t(`mask.tool.${each}`)}
          </Button>
        ))}
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
        <Button size="small" aria-label={t("mask.zoomIn")} onClick={panZoom.zoomIn}>
          +
        </Button>
        <Button size="small" aria-label={t("mask.zoomOut")} onClick={panZoom.zoomOut}>
          −
        </Button>
        <Button size="small" onClick={panZoom.reset}>
          {t("mask.fit")}
        </Button>
        <Button
          size="small"
          disabled={history.steps.length === 0}
          onClick={async () =>
            saveFile("mask.png", await exportMask(image.width, image.height, history.steps))
          }
        >
          {t("mask.download")}
        </Button>
      </div>
      <canvas
        ref={canvas}
        aria-label={t("mask.canvas")}
        className="h-[min(60dvh,40rem)] w-full touch-none rounded-md border border-line bg-sunken"
        {...gestures}
      />
      <p className="text-xs text-muted">{t("mask.help")}</p>
    </div>
  );
}

/** Ctrl+Z or Cmd+Z undoes, and with Shift redoes. A text field has its own undo. */
function useUndoKeys(history: MaskHistory, onChange: (history: MaskHistory) => void): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const { target, key, ctrlKey, metaKey, shiftKey } = event;
      if (key.toLowerCase() !== "z" || !(ctrlKey || metaKey)) return;
      if (target instanceof Element && target.matches("textarea, input:not([type=range])")) return;
      event.preventDefault();
      onChange(shiftKey ? redo(history) : undo(history));
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [history, onChange]);
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
