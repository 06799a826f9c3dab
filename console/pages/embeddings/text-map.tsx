/** The texts as points: near points are similar texts. */
import { useT } from "../../i18n/messages.ts";
import { classNames } from "../../lib/class-names.ts";
import { useProjection } from "./use-projection.ts";
import type { VectorSet } from "./vector-set.ts";
import type { Point } from "./vector-worker.ts";

interface TextMapProps {
  readonly texts: readonly string[];
  readonly vectors: VectorSet;
  readonly selected: number;
  readonly onSelect: (index: number) => void;
}

const size = 100;
const margin = 4;
const maxLabels = 40;
const labelLength = 28;

export function TextMap({ texts, vectors, selected, onSelect }: TextMapProps) {
  const t = useT();
  const projection = useProjection(vectors, texts.length);
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
  return (
    <figure className="flex flex-col gap-2">
      <svg
        viewBox={`0 0 ${size} ${size}`}
        role="img"
        aria-label={t("embeddings.map")}
        className="aspect-square w-full max-w-[30rem] rounded-md border border-line bg-sunken"
      >
        {projection.points.map((point, index) => {
          const [x, y] = place(point);
          const text = texts[index] ?? "";
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: the list of neighbors selects texts by keyboard.
            <g key={`${index} ${text}`} onClick={() => onSelect(index)} className="cursor-pointer">
              <title>{text}</title>
              <circle
                cx={x}
                cy={y}
                r={index === selected ? 1.6 : 0.9}
                className={classNames(index === selected ? "fill-bad" : "fill-accent")}
              />
              {(index === selected || texts.length <= maxLabels) && (
                <text
                  x={x > size / 2 ? x - 2.6 : x + 2.6}
                  y={y + 0.8}
                  fontSize={2.4}
                  // Toward the middle, so that no label leaves the map.
                  textAnchor={x > size / 2 ? "end" : "start"}
                  className="fill-ink"
                >
                  {shortened(text)}
                </text>
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
