/** The similarity of every pair of entries as a heat map that can be zoomed. Arrow keys move the selected cell. */
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { useGestures } from "../../lib/use-gestures.ts";
import { usePanZoom } from "../../lib/use-pan-zoom.ts";
import { type Point, toImage, type Viewport } from "../../lib/viewport.ts";
import { ZoomButtons } from "../../ui/zoom-buttons.tsx";
import type { Entry } from "./entries.ts";
import { EntryName } from "./entry-name.tsx";
import { ColumnLabels, RowLabels } from "./heat-map-labels.tsx";
import { HoverCard } from "./hover-card.tsx";
import { viridisGradient } from "./viridis.ts";

export interface Cell {
  readonly row: number;
  readonly column: number;
}

interface HeatMapProps {
  readonly entries: readonly Entry[];
  readonly matrix: Float32Array;
  readonly pixels: Uint32Array<ArrayBuffer>;
  readonly selected: Cell;
  readonly onSelect: (cell: Cell) => void;
}

interface Hovered extends Cell, Point {}

export function HeatMap({ entries, matrix, pixels, selected, onSelect }: HeatMapProps) {
  const t = useT();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [hovered, setHovered] = useState<Hovered>();
  const size = entries.length;
  const panZoom = usePanZoom(canvas, size, size);
  const { viewport } = panZoom;
  const gestures = useGestures({
    canvas,
    pans: true,
    leavesWheel: true,
    viewport,
    limits: panZoom.limits,
    onViewport: panZoom.setViewport,
    onHover: (at) => setHovered(at && cellUnder(at)),
    onTap: (at) => {
      const cell = cellUnder(at);
      if (cell) onSelect({ row: cell.row, column: cell.column });
    },
  });
  const image = useMemo(() => imageOf(pixels, size), [pixels, size]);
  useEffect(() => {
    if (canvas.current && viewport) draw(canvas.current, image, viewport, selected);
  }, [image, viewport, selected]);

  const cellUnder = (at: Point): Hovered | undefined => {
    if (!viewport) return undefined;
    const { x, y } = toImage(viewport, at);
    const [row, column] = [Math.floor(y), Math.floor(x)];
    const isInside = row >= 0 && row < size && column >= 0 && column < size;
    return isInside ? { row, column, ...at } : undefined;
  };
  const move = (event: KeyboardEvent): void => {
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const within = (value: number): number => Math.min(size - 1, Math.max(0, value));
    onSelect({ row: within(selected.row + step[0]), column: within(selected.column + step[1]) });
  };
  const similarity = ({ row, column }: Cell): string =>
    (matrix[row * size + column] ?? 0).toFixed(4);
  const labels = { entries, viewport, length: canvas.current?.clientWidth ?? 0 };
  return (
    <figure className="flex flex-col gap-2">
      <div className="grid grid-cols-[6rem_1fr] gap-1 text-xs text-muted">
        <ZoomButtons panZoom={panZoom} className="-ml-2 self-end" />
        <ColumnLabels {...labels} />
        <RowLabels {...labels} />
        <div className="relative">
          <canvas
            ref={canvas}
            tabIndex={0}
            role="img"
            aria-label={t("embeddings.heatMap")}
            {...gestures}
            onKeyDown={move}
            className="aspect-square w-full cursor-crosshair touch-pan-y rounded-md border border-line bg-sunken"
          />
          {hovered && (
            <HoverCard at={hovered} canvas={canvas}>
              <Pair entries={entries} cell={hovered} similarity={similarity(hovered)} />
            </HoverCard>
          )}
        </div>
        <Legend />
      </div>
      <figcaption aria-live="polite" className="text-xs">
        <Pair entries={entries} cell={selected} similarity={similarity(selected)} />
      </figcaption>
    </figure>
  );
}

interface PairProps {
  readonly entries: readonly Entry[];
  readonly cell: Cell;
  readonly similarity: string;
}

const Pair = ({ entries, cell: { row, column }, similarity }: PairProps) => (
  <>
    <span className="font-semibold text-ink tabular-nums">{similarity}</span>{" "}
    <span className="text-muted">
      <EntryName entry={entries[row] ?? ""} /> ↔ <EntryName entry={entries[column] ?? ""} />
    </span>
  </>
);

/** The same colors for every model, so that heat maps can be compared. */
function Legend() {
  const t = useT();
  return (
    <div className="col-start-2 flex items-center gap-2">
      <span>{t("embeddings.legendLow")}</span>
      <span className="h-2 flex-1 rounded-sm" style={{ background: viridisGradient }} />
      <span>{t("embeddings.legendHigh")}</span>
    </div>
  );
}

const steps: Readonly<Record<string, readonly [row: number, column: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

function draw(
  canvas: HTMLCanvasElement,
  image: OffscreenCanvas,
  { scale, left, top }: Viewport,
  { row, column }: Cell,
): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  canvas.width = canvas.clientWidth * devicePixelRatio;
  canvas.height = canvas.clientHeight * devicePixelRatio;
  context.scale(devicePixelRatio, devicePixelRatio);
  // Cells that are smaller than a pixel are averaged, and larger ones keep their edges.
  context.imageSmoothingEnabled = scale < 1;
  context.drawImage(image, left, top, image.width * scale, image.height * scale);
  context.strokeStyle = "#ff2d78";
  context.lineWidth = 2;
  context.strokeRect(left + column * scale - 1, top + row * scale - 1, scale + 2, scale + 2);
}

/** One pixel per pair. */
function imageOf(pixels: Uint32Array<ArrayBuffer>, size: number): OffscreenCanvas {
  const canvas = new OffscreenCanvas(size, size);
  const bytes = new Uint8ClampedArray(pixels.buffer);
  canvas.getContext("2d")?.putImageData(new ImageData(bytes, size, size), 0, 0);
  return canvas;
}
