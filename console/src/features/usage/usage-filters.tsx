/** The filters that are set, and one more from what the time range has. */
import { useState } from "react";
import type { UsageDimension } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Combobox } from "../../ui/combobox.tsx";
import { Field } from "../../ui/field.tsx";
import { AddFilter, FilterChip } from "../../ui/filter-chips.tsx";
import { Select } from "../../ui/select.tsx";
import type { UsageRange } from "./usage-range.ts";
import {
  filtersOf,
  isChip,
  mayFilter,
  type UsageFilterName,
  type UsageSearch,
  usageFilterNames,
} from "./usage-search.ts";
import { useDimensionValues } from "./use-dimension-values.ts";

interface UsageFiltersProps {
  readonly search: UsageSearch;
  readonly range: UsageRange;
  readonly group: UsageDimension;
  readonly onChange: (changes: Record<string, string>) => void;
}

export function UsageFilters({ search, range, group, onChange }: UsageFiltersProps) {
  const t = useT();
  return (
    <div className="flex flex-wrap items-center gap-2">
      {filtersOf(search)
        .filter(({ name }) => isChip(name))
        .map(({ name, value }) => (
          <Chip
            key={name}
            name={name}
            value={value}
            range={range}
            onRemove={() => onChange({ [name]: "" })}
          />
        ))}
      <AddFilter>
        <NewFilter range={range} group={group} onAdd={onChange} />
      </AddFilter>
      <Button
        size="small"
        aria-pressed={search.internal !== undefined}
        onClick={() => onChange({ internal: search.internal ? "" : "true" })}
      >
        {t("requests.internal")}
      </Button>
    </div>
  );
}

interface ChipProps {
  readonly name: UsageFilterName;
  readonly value: string;
  readonly range: UsageRange;
  readonly onRemove: () => void;
}

function Chip({ name, value, range, onRemove }: ChipProps) {
  const t = useT();
  // Only keys have names that differ from their values.
  const options = useDimensionValues(name, range, name === "key");
  const label = options.find((option) => option.value === value)?.label ?? value;
  return <FilterChip name={t(`usage.dimension.${name}`)} value={label} onRemove={onRemove} />;
}

interface NewFilterProps {
  readonly range: UsageRange;
  readonly group: UsageDimension;
  readonly onAdd: (filter: Record<string, string>) => void;
}

function NewFilter({ range, group, onAdd }: NewFilterProps) {
  const t = useT();
  const [name, setName] = useState<UsageFilterName>("model");
  const options = useDimensionValues(name, range, true);
  return (
    <div className="flex flex-col gap-3">
      <Field label={t("usage.filter.by")}>
        {(ids) => (
          <Select
            {...ids}
            value={name}
            onChange={setName}
            options={usageFilterNames
              .filter((each) => isChip(each) && mayFilter(each, group))
              .map((each) => ({ value: each, label: t(`usage.dimension.${each}`) }))}
          />
        )}
      </Field>
      <Field label={t(`usage.dimension.${name}`)}>
        {(ids) => (
          <Combobox
            {...ids}
            value=""
            allowsOther
            options={options}
            onChange={(value) => onAdd({ [name]: value })}
          />
        )}
      </Field>
    </div>
  );
}
