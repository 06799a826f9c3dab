/** Draws the points, thumbnails and labels of a map on a canvas. */
import { type Point, toCanvas, type Viewport } from "../../lib/viewport.ts";
import { placeLabels } from "./place-labels.ts";

export interface MapPoint {
  /** In the square of `worldSize`. */
  readonly at: Point;
  readonly label: string;
  readonly color: string;
  /** Instead of a dot. */
  readonly image: ImageBitmap | undefined;
}

interface DrawnMap {
  readonly points: readonly MapPoint[];
  readonly viewport: Viewport;
  readonly selected: number;
  readonly highlighted: number | undefined;
}

export const worldSize = 1000;
export const thumbnailSize = 40;
/** With more points in view, labels may cover points. */
const maxClearPoints = 150;
/** Measured and placed in each frame. */
const maxCandidates = 300;
const labelLength = 32;
/** In the corner, over the canvas. */
const zoomButtons = { width: 116, top: 0, bottom: 44 };
const fontFamily = "ui-sans-serif, system-ui, sans-serif";

export function drawMap(canvas: HTMLCanvasElement, map: DrawnMap): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = width * devicePixelRatio;
  canvas.height = height * devicePixelRatio;
  context.scale(devicePixelRatio, devicePixelRatio);
  const styles = getComputedStyle(canvas);
  const theme = {
    ink: styles.getPropertyValue("--ink"),
    page: styles.getPropertyValue("--sunken"),
    mark: styles.getPropertyValue("--bad"),
  };
  const shown = layers(map).map((index) => {
    const point = map.points[index] as MapPoint;
    return { index, point, at: toCanvas(map.viewport, point.at) };
  });
  const visible = shown.filter(
    ({ at: { x, y } }) => x > -20 && y > -20 && x < width + 20 && y < height + 20,
  );
  for (const { index, point, at } of visible) {
    const isMarked = index === map.selected || index === map.highlighted;
    if (point.image) drawImage(context, point.image, at, isMarked ? theme.mark : undefined);
    else drawDot(context, at, point.color, isMarked ? theme.mark : undefined);
  }
  drawLabels(context, visible.toReversed(), { width, height }, theme);
}

/** From the bottom to the top: images, which would hide dots, then dots, then what the user points at. */
function layers({ points, selected, highlighted }: DrawnMap): number[] {
  const rankOf = (index: number): number => {
    if (index === highlighted) return 3;
    if (index === selected) return 2;
    return points[index]?.image ? 0 : 1;
  };
  return points.map((_, index) => index).sort((a, b) => rankOf(a) - rankOf(b) || b - a);
}

function drawDot(
  context: CanvasRenderingContext2D,
  { x, y }: Point,
  color: string,
  ring: string | undefined,
): void {
  context.beginPath();
  context.arc(x, y, ring === undefined ? 4 : 5, 0, 2 * Math.PI);
  context.fillStyle = color;
  context.fill();
  if (ring === undefined) return;
  context.strokeStyle = ring;
  context.lineWidth = 2.5;
  context.stroke();
}

function drawImage(
  context: CanvasRenderingContext2D,
  image: ImageBitmap,
  { x, y }: Point,
  ring: string | undefined,
): void {
  const [left, top] = [x - thumbnailSize / 2, y - thumbnailSize / 2];
  context.drawImage(image, left, top, thumbnailSize, thumbnailSize);
  context.strokeStyle = ring ?? "#8888";
  context.lineWidth = ring === undefined ? 1 : 2.5;
  context.strokeRect(left, top, thumbnailSize, thumbnailSize);
}

interface Shown {
  readonly point: MapPoint;
  readonly at: Point;
}

/** `shown`: what the user points at first. */
function drawLabels(
  context: CanvasRenderingContext2D,
  shown: readonly Shown[],
  canvas: { readonly width: number; readonly height: number },
  { ink, page }: { readonly ink: string; readonly page: string },
): void {
  context.font = `12px ${fontFamily}`;
  context.textBaseline = "middle";
  const labeled = shown.filter(({ point }) => !point.image).slice(0, maxCandidates);
  const texts = labeled.map(({ point }) => shortened(point.label));
  const obstacles = shown.length <= maxClearPoints ? shown.map(({ at }) => at) : [];
  const places = placeLabels(
    labeled.map(({ at }, index) => ({
      at,
      width: context.measureText(texts[index] ?? "").width,
    })),
    obstacles,
    canvas,
    [{ ...zoomButtons, left: canvas.width - zoomButtons.width, right: canvas.width }],
  );
  // An outline in the color of the background keeps a label readable over points.
  context.strokeStyle = page;
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.fillStyle = ink;
  for (const [index, place] of places.entries()) {
    if (!place) continue;
    context.strokeText(texts[index] ?? "", place.x, place.y);
    context.fillText(texts[index] ?? "", place.x, place.y);
  }
}

const shortened = (text: string): string =>
  text.length > labelLength ? `${text.slice(0, labelLength - 1)}…` : text;
