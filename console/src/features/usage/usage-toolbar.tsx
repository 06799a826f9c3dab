/** The time range, its time zone, the groups, and the export of the usage page. */
import { Download } from "lucide-react";
import { type UsageDimension, usageDimensions } from "../../../../contract/admin.ts";
import type { Zone } from "../../charts/periods.ts";
import { useT } from "../../i18n/messages.ts";
import { ranges } from "../../lib/range.ts";
import { fromInputTime, timeZone, toInputTime } from "../../lib/time.ts";
import { buttonStyle } from "../../ui/button.tsx";
import { Input } from "../../ui/input.tsx";
import { Select } from "../../ui/select.tsx";
import { defaultRange, type UsageRange } from "./usage-range.ts";
import { secondDimension, type UsageSearch } from "./usage-search.ts";

interface UsageToolbarProps {
  readonly search: UsageSearch;
  readonly range: UsageRange;
  readonly zone: Zone;
  readonly dimensions: readonly UsageDimension[];
  readonly onChange: (changes: Record<string, string | undefined>) => void;
}

const custom = "custom";

export function UsageToolbar({ search, range, zone, dimensions, onChange }: UsageToolbarProps) {
  const t = useT();
  const [group = "model", split] = dimensions;
  const isCustom = search.range === undefined && search.from !== undefined;
  const dimensionOf = (name: UsageDimension) => ({
    value: name,
    label: t(`usage.dimension.${name}`),
  });
  return (
    <div className="flex flex-wrap items-center gap-2">
      <div className="w-36">
        <Select
          aria-label={t("range.label")}
          value={isCustom ? custom : (search.range ?? defaultRange)}
          onChange={(value) =>
            onChange(
              value === custom
                ? { range: undefined, from: range.from, to: range.to }
                : { range: value, from: undefined, to: undefined },
            )
          }
          options={[
            ...ranges.map((each) => ({ value: each as string, label: t(`range.${each}`) })),
            { value: custom, label: t("range.custom") },
          ]}
        />
      </div>
      {isCustom &&
        (["from", "to"] as const).map((name) => (
          <Input
            // A new element when the address changes, so that it shows the new value.
            key={`${name} ${range[name]} ${zone}`}
            type="datetime-local"
            aria-label={t(`requests.${name}`)}
            className="w-52!"
            defaultValue={toInputTime(range[name], zone)}
            onBlur={({ target: { value, defaultValue } }) => {
              if (value !== "" && value !== defaultValue)
                onChange({ [name]: fromInputTime(value, zone) });
            }}
          />
        ))}
      <div className="w-52">
        <Select
          aria-label={t("usage.zone")}
          value={zone ?? "local"}
          onChange={(value) => onChange({ zone: value === "UTC" ? "utc" : undefined })}
          options={[
            { value: "local", label: timeZone() },
            { value: "UTC", label: timeZone() === "UTC" ? "UTC (+00:00)" : "UTC" },
          ]}
        />
      </div>
      <div className="w-36">
        <Select
          aria-label={t("usage.groupBy")}
          value={group}
          onChange={(name) => onChange({ group: name })}
          options={usageDimensions.map(dimensionOf)}
        />
      </div>
      <div className="w-36">
        <Select
          aria-label={t("usage.thenBy")}
          value={split ?? ""}
          onChange={(name) => onChange({ split: name === "" ? undefined : name })}
          options={[
            { value: "" as UsageDimension | "", label: t("usage.thenBy.none") },
            ...usageDimensions
              .filter((name) => secondDimension(group, name) !== undefined)
              .map(dimensionOf),
          ]}
        />
      </div>
    </div>
  );
}

/** The rows of the page as they are shown: the same time, groups and filters. */
export const ExportLink = ({ href }: { href: string }) => {
  const t = useT();
  return (
    <a href={href} download="usage.csv" className={buttonStyle({})}>
      <Download className="size-4" aria-hidden="true" />
      {t("usage.csv")}
    </a>
  );
};
