/** The similarity of every pair of entries as a heat map. Arrow keys move the selected cell. */
import { type KeyboardEvent, type MouseEvent, useEffect, useRef } from "react";
import { useT } from "../../i18n/messages.ts";
import type { Entry } from "./entries.ts";
import { EntryName } from "./entry-name.tsx";
import { ColumnLabels, RowLabels } from "./heat-map-labels.tsx";

export interface Cell {
  readonly row: number;
  readonly column: number;
}

interface HeatMapProps {
  readonly entries: readonly Entry[];
  readonly matrix: Float32Array;
  readonly selected: Cell;
  readonly onSelect: (cell: Cell) => void;
}

export function HeatMap({ entries, matrix, selected, onSelect }: HeatMapProps) {
  const t = useT();
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = entries.length;
  useEffect(() => {
    if (canvas.current) draw(canvas.current, matrix, size);
  }, [matrix, size]);

  const select = (event: MouseEvent<HTMLCanvasElement>): void => {
    const { left, top, width, height } = event.currentTarget.getBoundingClientRect();
    const at = (offset: number, length: number): number =>
      Math.min(size - 1, Math.max(0, Math.floor((offset / length) * size)));
    onSelect({ row: at(event.clientY - top, height), column: at(event.clientX - left, width) });
  };
  const move = (event: KeyboardEvent): void => {
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const within = (value: number): number => Math.min(size - 1, Math.max(0, value));
    onSelect({ row: within(selected.row + step[0]), column: within(selected.column + step[1]) });
  };
  const similarity = matrix[selected.row * size + selected.column] ?? 0;
  return (
    <figure className="flex flex-col gap-2">
      <div className="grid max-w-[36rem] grid-cols-[6rem_1fr] gap-1 text-xs text-muted">
        <ColumnLabels entries={entries} />
        <RowLabels entries={entries} />
        <div className="relative">
          <canvas
            ref={canvas}
            tabIndex={0}
            role="img"
            aria-label={t("embeddings.heatMap")}
            onClick={select}
            onKeyDown={move}
            className="aspect-square w-full cursor-crosshair rounded-md border border-line [image-rendering:pixelated]"
          />
          <span
            aria-hidden="true"
            className="pointer-events-none absolute -m-0.5 box-content border-2 border-[#ff2d78]"
            style={{
              left: `${(selected.column / size) * 100}%`,
              top: `${(selected.row / size) * 100}%`,
              width: `${100 / size}%`,
              height: `${100 / size}%`,
            }}
          />
        </div>
        <Legend />
      </div>
      <figcaption aria-live="polite" className="text-xs">
        <span className="font-semibold tabular-nums">{similarity.toFixed(4)}</span>{" "}
        <span className="text-muted">
          <EntryName entry={entries[selected.row] ?? ""} /> ↔{" "}
          <EntryName entry={entries[selected.column] ?? ""} />
        </span>
      </figcaption>
    </figure>
  );
}

/** The same colors for every model, so that heat maps can be compared. */
function Legend() {
  const t = useT();
  return (
    <div className="col-start-2 flex items-center gap-2">
      <span>{t("embeddings.legendLow")}</span>
      <span
        className="h-2 flex-1 rounded-sm"
        style={{
          background: `linear-gradient(to right, ${stops.map((color) => `rgb(${color.join(" ")})`).join(", ")})`,
        }}
      />
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

/** One pixel per pair: the browser enlarges the canvas. */
function draw(canvas: HTMLCanvasElement, matrix: Float32Array, size: number): void {
  canvas.width = size;
  canvas.height = size;
  const context = canvas.getContext("2d");
  if (!context) return;
  const image = context.createImageData(size, size);
  const pixels = new Uint32Array(image.data.buffer);
  for (let at = 0; at < pixels.length; at++) {
    const share = Math.min(1, Math.max(0, matrix[at] as number));
    pixels[at] = colors[Math.round(share * (colors.length - 1))] as number;
  }
  context.putImageData(image, 0, 0);
}

/** From dark purple to yellow: five colors of Viridis, readable with every kind of color blindness. */
const stops = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
] as const;

/** The color of each of 256 similarities from 0 to 1, as a pixel: red is the lowest byte, and opacity the highest. */
const colors = Uint32Array.from({ length: 256 }, (_, at) => {
  const position = (at / 255) * (stops.length - 1);
  const index = Math.min(stops.length - 2, Math.floor(position));
  const [from, to] = [stops[index], stops[index + 1]] as const;
  const [red = 0, green = 0, blue = 0] =
    from?.map((value, channel) =>
      Math.round(value + ((to?.[channel] ?? value) - value) * (position - index)),
    ) ?? [];
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
});
