/** The texts as points and the images as thumbnails: near ones are similar. */
import { useT } from "../../i18n/messages.ts";
import { Progress } from "../../ui/progress.tsx";
import type { Column } from "./color-scale.ts";
import type { Entry } from "./entries.ts";
import { PointMap } from "./point-map.tsx";
import { useProjection } from "./use-projection.ts";
import type { VectorSet } from "./vector-set.ts";

interface TextMapProps {
  readonly entries: readonly Entry[];
  readonly vectors: VectorSet;
  /** The column that the points are colored by. */
  readonly column: Column | undefined;
  readonly selected: number;
  readonly onSelect: (index: number) => void;
}

export function TextMap({ entries, vectors, ...props }: TextMapProps) {
  const t = useT();
  const projection = useProjection(vectors, entries.length);
  if (projection.state === "too_few") return <p className="text-muted">{t("embeddings.tooFew")}</p>;
  if (projection.state === "failed") return <p className="text-bad">{projection.reason}</p>;
  if (projection.state === "running")
    return (
      <div className="flex flex-col gap-2">
        <p className="text-muted">{t("embeddings.map.running")}</p>
        <Progress label={t("embeddings.map.running")} share={projection.share} />
      </div>
    );
  return (
    <figure className="flex flex-col gap-2">
      <PointMap entries={entries} points={projection.points} {...props} />
      <figcaption className="text-xs text-muted">
        {t("embeddings.map.count", { count: entries.length })}{" "}
        {t(`embeddings.map.${projection.method}`)} {t("embeddings.map.help")}
      </figcaption>
    </figure>
  );
}
