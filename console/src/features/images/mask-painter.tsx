/** Paints the mask of an image edit: brush, eraser, invert, undo and redo, zoom and pan, with mouse, pen and touch. */
import { Brush, Contrast, Download, Eraser, Hand, Redo2, Trash2, Undo2 } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { saveFile } from "../../lib/save-file.ts";
import { useGestures } from "../../lib/use-gestures.ts";
import { usePanZoom } from "../../lib/use-pan-zoom.ts";
import type { Point, Viewport } from "../../lib/viewport.ts";
import { Button } from "../../ui/button.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { ZoomButtons } from "../../ui/zoom-buttons.tsx";
import { drawSteps, exportMask } from "./draw-mask.ts";
import { addStep, type MaskHistory, type MaskStep, redo, undo } from "./mask-history.ts";

interface MaskPainterProps {
  readonly image: ImageBitmap;
  readonly history: MaskHistory;
  readonly onChange: (history: MaskHistory) => void;
}

const tools = [
  { name: "brush", icon: Brush },
  { name: "eraser", icon: Eraser },
  { name: "pan", icon: Hand },
] as const;
type Tool = (typeof tools)[number]["name"];

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
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <div className="flex gap-1">
          {tools.map(({ name, icon: Icon }) => (
            <Button
              key={name}
              size="small"
              aria-pressed={tool === name}
              onClick={() => setTool(name)}
            >
              <Icon size={14} />
              {t(`mask.tool.${name}`)}
            </Button>
          ))}
        </div>
        <label className="flex items-center gap-1.5 text-xs text-muted">
          {t("mask.size")}
          <input
            type="range"
            min={1}
            max={Math.max(2, Math.round(image.width / 2))}
            value={brushSize}
            onChange={(event) => setBrushSize(Number(event.target.value))}
            className="w-28 accent-accent"
          />
        </label>
        <div className="flex">
          <IconButton
            icon={Undo2}
            label={t("mask.undo")}
            disabled={history.steps.length === 0}
            onClick={() => onChange(undo(history))}
          />
          <IconButton
            icon={Redo2}
            label={t("mask.redo")}
            disabled={history.undone.length === 0}
            onClick={() => onChange(redo(history))}
          />
          <IconButton
            icon={Contrast}
            label={t("mask.invert")}
            onClick={() => onChange(addStep(history, { type: "invert" }))}
          />
          <IconButton
            icon={Trash2}
            label={t("mask.clear")}
            onClick={() => onChange(addStep(history, { type: "clear" }))}
          />
          <IconButton
            icon={Download}
            label={t("mask.download")}
            disabled={history.steps.length === 0}
            onClick={async () =>
              saveFile("mask.png", await exportMask(image.width, image.height, history.steps))
            }
          />
        </div>
      </div>
      <div className="relative">
        <canvas
          ref={canvas}
          aria-label={t("mask.canvas")}
          className="h-[min(70dvh,48rem)] w-full touch-none rounded-md border border-line bg-sunken"
          {...gestures}
        />
        <ZoomButtons panZoom={panZoom} className="absolute top-2 right-2 border border-line" />
      </div>
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
