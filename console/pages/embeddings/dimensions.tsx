/** What truncation of the vectors costs: the share of nearest neighbors that stay, by number of dimensions. */
import { useDeferredValue, useMemo, useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { percent } from "../../lib/format.ts";
import type { Embedded } from "./embed.ts";
import { neighborCount, qualityCurve, rankingQuality } from "./ranking-quality.ts";

export function Dimensions({ embedded: { model, vectors } }: { embedded: Embedded }) {
  const t = useT();
  const full = vectors[0]?.length ?? 0;
  const [dimensions, setDimensions] = useState(full);
  const shown = useDeferredValue(dimensions);
  const quality = useMemo(() => rankingQuality(vectors, shown), [vectors, shown]);
  const curve = useMemo(() => qualityCurve(vectors), [vectors]);
  return (
    <div className="flex flex-col gap-2">
      <label className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="w-44 shrink-0 truncate font-mono text-xs">{model}</span>
        <input
          type="range"
          min={Math.min(8, full)}
          max={full}
          step={1}
          value={dimensions}
          onChange={(event) => setDimensions(Number(event.target.value))}
          className="min-w-40 flex-1 accent-accent"
        />
        <output className="w-24 shrink-0 text-right tabular-nums">
          {dimensions} / {full}
        </output>
      </label>
      <p aria-live="polite">
        {t("embeddings.kept", {
          share: percent(quality),
          count: neighborCount(vectors.length),
          saved: percent(1 - shown / full),
        })}
      </p>
      <dl className="flex flex-wrap gap-x-5 gap-y-1 text-xs">
        {curve.map((point) => (
          <div key={point.dimensions} className="flex gap-1">
            <dt className="text-muted">{point.dimensions}</dt>
            <dd className="tabular-nums">{percent(point.quality)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
