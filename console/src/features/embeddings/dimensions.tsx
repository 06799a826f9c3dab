/** What truncation of the vectors costs: the share of nearest neighbors that stay, by number of dimensions. */
import { useEffect, useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { percent } from "../../lib/format.ts";
import type { Embedded } from "./embed.ts";
import { neighborCount, type QualityPoint } from "./ranking-quality.ts";

/** Moves of the slider within this time are one change. */
const settleMs = 50;

interface DimensionsProps {
  readonly embedded: Embedded;
  /** The number of texts. */
  readonly size: number;
}

export function Dimensions({
  embedded: { model, vectors, dimensions: full },
  size,
}: DimensionsProps) {
  const t = useT();
  const [dimensions, setDimensions] = useState(full);
  const [shown, setShown] = useState<QualityPoint>({ dimensions: full, quality: null });
  const [curve, setCurve] = useState<readonly QualityPoint[]>([]);
  useEffect(() => {
    void vectors.call("curve", null).then(setCurve);
  }, [vectors]);
  useEffect(() => {
    const timer = setTimeout(async () => {
      setShown({ dimensions, quality: await vectors.call("quality", dimensions) });
    }, settleMs);
    return () => clearTimeout(timer);
  }, [vectors, dimensions]);
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
          share: percent(shown.quality),
          count: neighborCount(size),
          saved: percent(1 - shown.dimensions / full),
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
