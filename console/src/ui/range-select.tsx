/** The time range of a page. */
import { useT } from "../i18n/messages.ts";
import { type Range, ranges } from "../lib/range.ts";
import { Select } from "./select.tsx";

interface RangeSelectProps {
  readonly value: Range;
  readonly onChange: (range: Range) => void;
}

export function RangeSelect({ value, onChange }: RangeSelectProps) {
  const t = useT();
  return (
    <div>
      <Select
        aria-label={t("range.label")}
        value={value}
        onChange={onChange}
        options={ranges.map((range) => ({ value: range, label: t(`range.${range}`) }))}
      />
    </div>
  );
}
