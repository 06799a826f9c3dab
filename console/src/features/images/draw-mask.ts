/** Draws a mask on a canvas, and exports it as the images API expects it. */
import type { Point } from "../../lib/viewport.ts";
import type { MaskStep } from "./mask-history.ts";

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

/** Painted areas become opaque. The context has the size of the image. */
export function drawSteps(context: Context, steps: readonly MaskStep[]): void {
  const { width, height } = context.canvas;
  context.clearRect(0, 0, width, height);
  for (const step of steps) drawStep(context, step);
}

function drawStep(context: Context, step: MaskStep): void {
  const { width, height } = context.canvas;
  context.save();
  if (step.type === "clear") context.clearRect(0, 0, width, height);
  if (step.type === "invert") {
    // Paints where nothing is painted, and removes everything else.
    context.globalCompositeOperation = "xor";
    context.fillRect(0, 0, width, height);
  }
  if (step.type === "stroke") {
    context.globalCompositeOperation = step.erases ? "destination-out" : "source-over";
    drawStroke(context, step.points, step.size);
  }
  context.restore();
}

function drawStroke(context: Context, points: readonly Point[], size: number): void {
  const [first, ...others] = points;
  if (!first) return;
  context.lineCap = "round";
  context.lineJoin = "round";
  context.lineWidth = size;
  context.beginPath();
  context.moveTo(first.x, first.y);
  // A line of length 0 with round caps is a dot.
  if (others.length === 0) context.lineTo(first.x, first.y);
  for (const { x, y } of others) context.lineTo(x, y);
  context.stroke();
}

/**
 * A PNG of the image's size: transparent where the model may change the image, opaque elsewhere. Alpha is 0 or 255, so
 * that soft edges of strokes are not partly edited.
 */
export async function exportMask(
  width: number,
  height: number,
  steps: readonly MaskStep[],
): Promise<Blob> {
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  if (!context) throw new Error("This browser has no 2D canvas.");
  drawSteps(context, steps);
  const pixels = context.getImageData(0, 0, width, height);
  const { data } = pixels;
  for (let at = 3; at < data.length; at += 4) {
    data.fill(0, at - 3, at);
    data[at] = (data[at] as number) >= 128 ? 0 : 255;
  }
  context.putImageData(pixels, 0, 0);
  return canvas.convertToBlob({ type: "image/png" });
}
