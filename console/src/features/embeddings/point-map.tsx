/** A map of points that can be zoomed, moved and pointed at. The arrow keys go from point to point. */
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { useGestures } from "../../lib/use-gestures.ts";
import { usePanZoom } from "../../lib/use-pan-zoom.ts";
import { type Point, toCanvas } from "../../lib/viewport.ts";
import { useShownTheme } from "../../ui/theme.ts";
import { ZoomButtons } from "../../ui/zoom-buttons.tsx";
import { type Column, colorScale } from "./color-scale.ts";
import { drawMap, type MapPoint, worldSize } from "./draw-map.ts";
import { type Entry, nameOf } from "./entries.ts";
import { EntryName } from "./entry-name.tsx";
import { HoverCard } from "./hover-card.tsx";
import { nearestPoint, worldPoints } from "./map-points.ts";
import { useThumbnails } from "./use-thumbnails.ts";
import type { Point as Projected } from "./vector-worker.ts";

interface PointMapProps {
  readonly entries: readonly Entry[];
  /** In the order of the entries. */
  readonly points: readonly Projected[];
  readonly column: Column | undefined;
  readonly selected: number;
  readonly onSelect: (index: number) => void;
}

const plainColor = "#5b6ee8";

export function PointMap({ entries, points, column, selected, onSelect }: PointMapProps) {
  const t = useT();
  const theme = useShownTheme();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [highlighted, setHighlighted] = useState<number>();
  const thumbnails = useThumbnails(entries);
  const panZoom = usePanZoom(canvas, worldSize, worldSize);
  const { viewport } = panZoom;
  const gestures = useGestures({
    canvas,
    pans: true,
    leavesWheel: true,
    viewport,
    limits: panZoom.limits,
    onViewport: panZoom.setViewport,
    onHover: (at) => setHighlighted(at && pointUnder(at)),
    onTap: (at) => {
      const index = pointUnder(at);
      if (index !== undefined) onSelect(index);
    },
  });
  const drawn = useMemo((): readonly MapPoint[] => {
    const colors = column && colorScale(column).colors;
    return worldPoints(points).map((at, index) => ({
      at,
      label: nameOf(entries[index] ?? ""),
      color: colors?.[index] ?? plainColor,
      image: thumbnails.get(index),
    }));
  }, [points, entries, column, thumbnails]);
  // The colors of the theme are read from the styles.
  useEffect(() => {
    if (canvas.current && viewport)
      drawMap(canvas.current, { points: drawn, viewport, selected, highlighted });
  }, [drawn, viewport, selected, highlighted, theme]);

  const pointUnder = (at: Point): number | undefined =>
    viewport && nearestPoint(drawn, viewport, at);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const zooms = { "+": panZoom.zoomIn, "-": panZoom.zoomOut, "0": panZoom.reset }[event.key];
    const from = highlighted ?? selected;
    if (step !== undefined) setHighlighted((from + step + points.length) % points.length);
    else if (event.key === "Enter") onSelect(from);
    else if (zooms) zooms();
    else return;
    event.preventDefault();
  };
  const shown = highlighted === undefined ? undefined : drawn[highlighted];
  return (
    <div className="relative">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label={t("embeddings.map")}
        {...gestures}
        onBlur={() => setHighlighted(undefined)}
        onKeyDown={onKeyDown}
        className="aspect-square max-h-[70dvh] w-full cursor-crosshair touch-pan-y rounded-md border border-line bg-sunken"
      />
      <ZoomButtons panZoom={panZoom} className="absolute top-2 right-2 border border-line" />
      {shown && viewport && highlighted !== undefined && (
        <HoverCard at={toCanvas(viewport, shown.at)} canvas={canvas}>
          <EntryName entry={entries[highlighted] ?? ""} />
          {column && (
            <span className="block text-muted">
              {column.name}: {column.values[highlighted]}
            </span>
          )}
        </HoverCard>
      )}
    </div>
  );
}
