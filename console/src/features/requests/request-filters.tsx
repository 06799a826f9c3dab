/** The time range and the filters of the request list, with one more from what the requests have. */
import { useState } from "react";
import type { MessageKey } from "../../i18n/message-keys.ts";
import { useT } from "../../i18n/messages.ts";
import { ranges } from "../../lib/range.ts";
import { fromInputTime, toInputTime } from "../../lib/time.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { AddFilter, FilterChip } from "../../ui/filter-chips.tsx";
import { Input } from "../../ui/input.tsx";
import { Select } from "../../ui/select.tsx";
import { type ChipName, chipNames, FilterValue, useFilterLabel } from "./filter-value.tsx";
import type { RequestsSearch } from "./requests-search.ts";

interface RequestFiltersProps {
  readonly search: RequestsSearch;
  readonly onChange: (changes: Record<string, string>) => void;
}

const custom = "custom";
const names: Readonly<Record<ChipName, MessageKey>> = {
  status: "requests.status",
  model: "requests.model",
  key: "requests.key",
  target: "requests.target",
  tag: "requests.tag",
  end_user: "requests.endUser",
  created_by: "keys.owner",
  error: "requests.error",
  request_id: "requests.requestId",
  min_latency_ms: "requests.minLatency",
  max_latency_ms: "requests.maxLatency",
  min_cost: "requests.minCost",
  max_cost: "requests.maxCost",
};

export function RequestFilters({ search, onChange }: RequestFiltersProps) {
  const t = useT();
  const set = chipNames.filter((name) => search[name] !== undefined);
  return (
    <div className="flex flex-wrap items-center gap-2">
      <TimeRange search={search} onChange={onChange} />
      {set.map((name) => (
        <Chip key={name} name={name} search={search} onRemove={() => onChange({ [name]: "" })} />
      ))}
      <AddFilter>
        <NewFilter search={search} onAdd={onChange} />
      </AddFilter>
      <Button
        size="small"
        aria-pressed={search.internal !== undefined}
        onClick={() => onChange({ internal: search.internal ? "" : "true" })}
      >
        {t("requests.internal")}
      </Button>
      {set.length > 0 && (
        <Button
          size="small"
          look="quiet"
          onClick={() => onChange(Object.fromEntries(set.map((name) => [name, ""])))}
        >
          {t("requests.clear")}
        </Button>
      )}
    </div>
  );
}

/** All time, a range that ends now, or one of the user's own. */
function TimeRange({ search, onChange }: RequestFiltersProps) {
  const t = useT();
  const isCustom = search.from !== undefined || search.to !== undefined;
  const now = (): string => new Date(Math.ceil(Date.now() / 60_000) * 60_000).toISOString();
  return (
    <>
      <div className="w-36">
        <Select
          aria-label={t("range.label")}
          value={isCustom ? custom : (search.range ?? "")}
          onChange={(value) =>
            onChange(
              value === custom ? { range: "", to: now() } : { range: value, from: "", to: "" },
            )
          }
          options={[
            { value: "", label: t("requests.range.all") },
            ...ranges.map((range) => ({ value: range as string, label: t(`range.${range}`) })),
            { value: custom, label: t("range.custom") },
          ]}
        />
      </div>
      {isCustom &&
        (["from", "to"] as const).map((name) => (
          <Input
            // A new element when the address changes, so that it shows the new value.
            key={`${name} ${search[name] ?? ""}`}
            type="datetime-local"
            aria-label={t(`requests.${name}`)}
            className="w-52!"
            defaultValue={toInputTime(search[name])}
            onBlur={({ target: { value, defaultValue } }) => {
              if (value !== defaultValue)
                onChange({ [name]: value === "" ? "" : fromInputTime(value) });
            }}
          />
        ))}
    </>
  );
}

interface ChipProps {
  readonly name: ChipName;
  readonly search: RequestsSearch;
  readonly onRemove: () => void;
}

function Chip({ name, search, onRemove }: ChipProps) {
  const t = useT();
  const label = useFilterLabel(name, search);
  return <FilterChip name={t(names[name])} value={label} onRemove={onRemove} />;
}

interface NewFilterProps {
  readonly search: RequestsSearch;
  readonly onAdd: (filter: Record<string, string>) => void;
}

function NewFilter({ search, onAdd }: NewFilterProps) {
  const t = useT();
  const [name, setName] = useState<ChipName>("status");
  return (
    <div className="flex flex-col gap-3">
      <Field label={t("usage.filter.by")}>
        {(ids) => (
          <Select
            {...ids}
            value={name}
            onChange={setName}
            options={chipNames.map((each) => ({ value: each, label: t(names[each]) }))}
          />
        )}
      </Field>
      <Field label={t(names[name])}>
        {(ids) => (
          <FilterValue
            key={name}
            {...ids}
            name={name}
            search={search}
            onChoose={(value) => onAdd({ [name]: value })}
          />
        )}
      </Field>
    </div>
  );
}
