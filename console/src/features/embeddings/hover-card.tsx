/** What is under the pointer on a canvas, beside it and inside the canvas. */
import type { ReactNode, RefObject } from "react";
import type { Point } from "../../lib/viewport.ts";

interface HoverCardProps {
  /** In CSS pixels from the corner of the canvas. */
  readonly at: Point;
  readonly canvas: RefObject<HTMLCanvasElement | null>;
  readonly children: ReactNode;
}

const gap = 10;

export function HoverCard({ at: { x, y }, canvas, children }: HoverCardProps) {
  const { clientWidth = 0, clientHeight = 0 } = canvas.current ?? {};
  return (
    <div
      role="tooltip"
      className="pointer-events-none absolute z-10 w-max max-w-[min(18rem,60%)] rounded-md border border-line bg-surface px-2 py-1 text-xs wrap-anywhere shadow-lg"
      style={{
        ...(x > clientWidth / 2 ? { right: clientWidth - x + gap } : { left: x + gap }),
        ...(y > clientHeight / 2 ? { bottom: clientHeight - y + gap } : { top: y + gap }),
      }}
    >
      <div className="line-clamp-4">{children}</div>
    </div>
  );
}
