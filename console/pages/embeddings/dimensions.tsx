/** What truncation of the vectors costs: the share of nearest neighbors that stay, by number of dimensions. */
import { useMemo, useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { percent } from "../../lib/format.ts";
import type { Embedded } from "./embed.ts";
import { keptNeighbors, similarityMatrix, truncated } from "./vectors.ts";

const neighborCount = 10;

export function Dimensions({ embedded, matrix }: { embedded: Embedded; matrix: Float32Array }) {
  const t = useT();
  const full = embedded.vectors[0]?.length ?? 0;
  const [dimensions, setDimensions] = useState(full);
  const kept = useMemo(() => {
    if (dimensions === full) return 1;
    const short = similarityMatrix(embedded.vectors.map((vector) => truncated(vector, dimensions)));
    return keptNeighbors(matrix, short, embedded.vectors.length, neighborCount);
  }, [embedded, matrix, dimensions, full]);
  return (
    <div className="flex flex-col gap-1">
      <label className="flex items-center gap-3">
        <span className="w-40 shrink-0 truncate font-mono text-xs">{embedded.model}</span>
        <input
          type="range"
          min={Math.min(8, full)}
          max={full}
          step={1}
          value={dimensions}
          onChange={(event) => setDimensions(Number(event.target.value))}
          className="min-w-0 flex-1"
        />
        <span className="w-28 shrink-0 text-right tabular-nums">
          {dimensions} / {full}
        </span>
      </label>
      <p className="text-xs text-muted">
        {t("embeddings.kept", {
          share: percent(kept),
          count: Math.min(neighborCount, embedded.vectors.length - 1),
        })}
      </p>
    </div>
  );
}
