/** The choice of the column that colors the points of the maps, and what the colors mean. */
import { useId } from "react";
import { useT } from "../../i18n/messages.ts";
import { Select } from "../../ui/select.tsx";
import { type Column, colorScale } from "./color-scale.ts";
import { viridisGradient } from "./viridis.ts";

interface ColorByProps {
  readonly columns: readonly Column[];
  /** Empty: all points have the same color. */
  readonly value: string;
  readonly onChange: (name: string) => void;
}

export function ColorBy({ columns, value, onChange }: ColorByProps) {
  const t = useT();
  const id = useId();
  return (
    <span className="flex items-center gap-2 text-xs whitespace-nowrap text-muted">
      <label htmlFor={id}>{t("embeddings.colorBy")}</label>
      <Select
        id={id}
        value={value}
        onChange={onChange}
        className="w-44"
        options={[
          { value: "", label: t("embeddings.colorBy.none") },
          ...columns.map(({ name }) => ({ value: name, label: name })),
        ]}
      />
    </span>
  );
}

export function ColorLegend({ column }: { column: Column }) {
  const t = useT();
  const scale = colorScale(column);
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 pt-3 text-xs text-muted">
      {scale.type === "numbers" ? (
        <>
          {scale.low}
          <span className="h-2 w-40 rounded-sm" style={{ background: viridisGradient }} />
          {scale.high}
        </>
      ) : (
        scale.legend.map(({ label, color }) => (
          <span key={color} className="flex items-center gap-1.5">
            <span className="size-2.5 rounded-full" style={{ background: color }} />
            <span className="max-w-40 truncate">{label ?? t("embeddings.colorBy.other")}</span>
          </span>
        ))
      )}
    </div>
  );
}
