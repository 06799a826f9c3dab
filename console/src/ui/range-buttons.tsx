/** The time range of a page: radio buttons that look like one control. */
import { useId } from "react";
import { useT } from "../i18n/messages.ts";
import { type Range, ranges } from "../lib/range.ts";

interface RangeButtonsProps {
  readonly value: Range;
  readonly onChange: (range: Range) => void;
}

export function RangeButtons({ value, onChange }: RangeButtonsProps) {
  const t = useT();
  const name = useId();
  return (
    <fieldset className="flex rounded-md border border-line bg-surface p-0.5">
      <legend className="sr-only">{t("range.label")}</legend>
      {ranges.map((range) => (
        <label
          key={range}
          className="relative cursor-pointer rounded px-2.5 py-1.5 text-muted hover:text-ink has-checked:bg-accent-soft has-checked:font-medium has-checked:text-accent has-focus-visible:outline-2 has-focus-visible:outline-accent"
        >
          <input
            type="radio"
            name={name}
            checked={range === value}
            onChange={() => onChange(range)}
            className="sr-only"
          />
          {t(`range.${range}`)}
        </label>
      ))}
    </fieldset>
  );
}
