/** The texts as points and the images as thumbnails: near ones are similar. */
import { useT } from "../../i18n/messages.ts";
import { classNames } from "../../lib/class-names.ts";
import { useObjectUrl } from "../../lib/use-object-url.ts";
import { type Entry, isImage, nameOf } from "./entries.ts";
import { useProjection } from "./use-projection.ts";
import type { VectorSet } from "./vector-set.ts";
import type { Point } from "./vector-worker.ts";

interface TextMapProps {
  readonly entries: readonly Entry[];
  readonly vectors: VectorSet;
  readonly selected: number;
  readonly onSelect: (index: number) => void;
}

const size = 100;
const thumbnailSize = 9;
const margin = 5;
const maxLabels = 40;
const labelLength = 28;

export function TextMap({ entries, vectors, selected, onSelect }: TextMapProps) {
  const t = useT();
  const projection = useProjection(vectors, entries.length);
  if (projection.state === "too_few") return <p className="text-muted">{t("embeddings.tooFew")}</p>;
  if (projection.state === "failed") return <p className="text-bad">{projection.reason}</p>;
  if (projection.state === "running")
    return (
      <progress
        aria-label={t("embeddings.map.running")}
        value={projection.share}
        className="w-full"
      />
    );
  const place = scaler(projection.points);
  const toMark = (point: Point, index: number): Mark => ({
    point,
    entry: entries[index] ?? "",
    index,
    isSelected: index === selected,
  });
  return (
    <figure className="flex flex-col gap-2">
      <svg
        viewBox={`0 0 ${size} ${size}`}
        role="img"
        aria-label={t("embeddings.map")}
        className="aspect-square w-full max-w-[30rem] rounded-md border border-line bg-sunken"
      >
        {projection.points
          .map(toMark)
          .toSorted(byLayer)
          .map(({ point, entry, index, isSelected }) => {
            const [x, y] = place(point);
            return (
              // biome-ignore lint/a11y/noStaticElementInteractions: the list of neighbors selects entries by keyboard.
              <g
                key={`${index} ${nameOf(entry)}`}
                onClick={() => onSelect(index)}
                className="cursor-pointer"
              >
                <title>{nameOf(entry)}</title>
                {isImage(entry) ? (
                  <Thumbnail image={entry} x={x} y={y} isSelected={isSelected} />
                ) : (
                  <Dot
                    text={isSelected || entries.length <= maxLabels ? entry : undefined}
                    x={x}
                    y={y}
                    isSelected={isSelected}
                  />
                )}
              </g>
            );
          })}
      </svg>
      <figcaption className="text-xs text-muted">
        {t(`embeddings.map.${projection.method}`)}
      </figcaption>
    </figure>
  );
}

interface Mark {
  readonly point: Point;
  readonly entry: Entry;
  readonly index: number;
  readonly isSelected: boolean;
}

/** Texts are drawn over images, which would hide them, and the selected entry over all others. */
const byLayer = (a: Mark, b: Mark): number => layerOf(a) - layerOf(b);
const layerOf = ({ entry, isSelected }: Mark): number =>
  (isSelected ? 2 : 0) + (isImage(entry) ? 0 : 1);

interface MarkProps {
  readonly x: number;
  readonly y: number;
  readonly isSelected: boolean;
}

function Dot({ text, x, y, isSelected }: MarkProps & { text: string | undefined }) {
  const isRight = x > size / 2;
  return (
    <>
      <circle
        cx={x}
        cy={y}
        r={isSelected ? 1.6 : 0.9}
        className={isSelected ? "fill-bad" : "fill-accent"}
      />
      {text !== undefined && (
        <text
          x={isRight ? x - 2.6 : x + 2.6}
          y={y + 0.8}
          fontSize={2.4}
          // Toward the middle, so that no label leaves the map.
          textAnchor={isRight ? "end" : "start"}
          className="fill-ink"
        >
          {shortened(text)}
        </text>
      )}
    </>
  );
}

function Thumbnail({ image, x, y, isSelected }: MarkProps & { image: File }) {
  const url = useObjectUrl(image);
  const corner = { x: x - thumbnailSize / 2, y: y - thumbnailSize / 2 };
  const square = { ...corner, width: thumbnailSize, height: thumbnailSize };
  return (
    <>
      <image href={url} {...square} preserveAspectRatio="xMidYMid slice" />
      <rect
        {...square}
        strokeWidth={isSelected ? 0.8 : 0.3}
        className={classNames("fill-none", isSelected ? "stroke-bad" : "stroke-line")}
      />
    </>
  );
}

const shortened = (text: string): string =>
  text.length > labelLength ? `${text.slice(0, labelLength - 1)}…` : text;

/** Maps the points of the projection into the square, with a margin. */
function scaler(points: readonly Point[]): (point: Point) => Point {
  const [x, y] = [scale(points.map((point) => point[0])), scale(points.map((point) => point[1]))];
  return (point) => [x(point[0]), y(point[1])];
}

function scale(values: readonly number[]): (value: number) => number {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return (value) => margin + ((value - low) / (high - low || 1)) * (size - 2 * margin);
}
