/** The similarity of every pair of texts as a heat map. Arrow keys move the selected cell. */
import { type KeyboardEvent, type MouseEvent, useEffect, useRef } from "react";
import { useT } from "../../i18n/messages.ts";

export interface Cell {
  readonly row: number;
  readonly column: number;
}

interface HeatMapProps {
  readonly texts: readonly string[];
  readonly matrix: Float32Array;
  readonly selected: Cell;
  readonly onSelect: (cell: Cell) => void;
}

const maxPixels = 480;

export function HeatMap({ texts, matrix, selected, onSelect }: HeatMapProps) {
  const t = useT();
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = texts.length;
  useEffect(() => {
    if (canvas.current) draw(canvas.current, matrix, size, selected);
  }, [matrix, size, selected]);

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
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label={t("embeddings.heatMap")}
        onClick={select}
        onKeyDown={move}
        className="aspect-square w-full max-w-[30rem] cursor-crosshair rounded-md border border-line [image-rendering:pixelated]"
      />
      <figcaption aria-live="polite" className="text-xs">
        <span className="font-semibold tabular-nums">{similarity.toFixed(4)}</span>{" "}
        <span className="text-muted">
          {texts[selected.row]} ↔ {texts[selected.column]}
        </span>
      </figcaption>
    </figure>
  );
}

const steps: Readonly<Record<string, readonly [row: number, column: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

function draw(canvas: HTMLCanvasElement, matrix: Float32Array, size: number, selected: Cell): void {
  const cellPixels = Math.max(1, Math.floor(maxPixels / size));
  canvas.width = size * cellPixels;
  canvas.height = size * cellPixels;
  const context = canvas.getContext("2d");
  if (!context) return;
  const [low, high] = rangeOf(matrix, size);
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      const share = ((matrix[row * size + column] as number) - low) / (high - low || 1);
      context.fillStyle = colorOf(Math.min(1, Math.max(0, share)));
      context.fillRect(column * cellPixels, row * cellPixels, cellPixels, cellPixels);
    }
  }
  context.strokeStyle = "#ff2d78";
  context.lineWidth = Math.max(1, cellPixels / 8);
  context.strokeRect(
    selected.column * cellPixels,
    selected.row * cellPixels,
    cellPixels,
    cellPixels,
  );
}

/** The diagonal is always 1 and would hide the differences between the other pairs. */
function rangeOf(matrix: Float32Array, size: number): [low: number, high: number] {
  let [low, high] = [1, -1];
  for (const [at, value] of matrix.entries()) {
    if (Math.floor(at / size) === at % size) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low > high ? [0, 1] : [low, high];
}

/** From dark blue to yellow, readable with every kind of color blindness (the ends of Viridis). */
const stops = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
] as const;

export function colorOf(share: number): string {
  const position = share * (stops.length - 1);
  const index = Math.min(stops.length - 2, Math.floor(position));
  const [from, to] = [stops[index], stops[index + 1]] as const;
  const mixed = from?.map((value, at) =>
    Math.round(value + ((to?.[at] ?? value) - value) * (position - index)),
  );
  return `rgb(${mixed?.join(" ")})`;
}
