/** The filters of the request list. A text filter applies when the field is left, or with Enter. */
import { useState } from "react";
import type { MessageKey } from "../../i18n/message-keys.ts";
import { useT } from "../../i18n/messages.ts";
import { ranges, startOf } from "../../lib/range.ts";
import { fromInputTime, toInputTime } from "../../lib/time.ts";
import { Button } from "../../ui/button.tsx";
import { Combobox } from "../../ui/combobox.tsx";
import { Field } from "../../ui/field.tsx";
import { Input } from "../../ui/input.tsx";
import { Select } from "../../ui/select.tsx";
import type { UsageFilterName } from "../usage/usage-search.ts";
import { useDimensionValues } from "../usage/use-dimension-values.ts";
import type { FilterName, RequestsSearch } from "./requests-search.ts";

/** Chosen from what the requests of the time range have. */
const values: readonly (readonly [UsageFilterName, MessageKey])[] = [
  ["model", "requests.model"],
  ["key", "requests.key"],
  ["target", "requests.target"],
  ["tag", "requests.tag"],
  ["end_user", "requests.endUser"],
];

const texts: readonly (readonly [FilterName, MessageKey])[] = [
  ["error", "requests.error"],
  ["request_id", "requests.requestId"],
  ["min_latency_ms", "requests.minLatency"],
  ["max_latency_ms", "requests.maxLatency"],
  ["min_cost", "requests.minCost"],
  ["max_cost", "requests.maxCost"],
];

const statuses: readonly (readonly [string, MessageKey | undefined])[] = [
  ["", "requests.status.all"],
  ["ok", "requests.status.ok"],
  ["error", "requests.status.error"],
  ["refused", "figure.refused"],
  ["failed", "figure.errorCount"],
  ["4xx", undefined],
  ["5xx", undefined],
];

interface RequestFiltersProps {
  readonly search: RequestsSearch;
  readonly onChange: (changes: Record<string, string>) => void;
  readonly onClear: () => void;
}

export function RequestFilters({ search, onChange, onClear }: RequestFiltersProps) {
  const t = useT();
  const isNumber = (name: FilterName): boolean => /^(?:min|max)_/.test(name);
  return (
    <details
      open={Object.keys(search).length > 0}
      className="rounded-lg border border-line bg-surface"
    >
      <summary className="cursor-pointer px-4 py-2.5 text-sm font-semibold">
        {t("requests.filters")}
      </summary>
      <div className="grid gap-3 border-t border-line p-4 sm:grid-cols-2 lg:grid-cols-4">
        <Field label={t("range.label")}>
          {(ids) => (
            <Select
              {...ids}
              value={search.range ?? ""}
              onChange={(range) => onChange({ range })}
              options={[
                { value: "", label: t("requests.range.all") },
                ...ranges.map((range) => ({ value: range, label: t(`range.${range}`) })),
              ]}
            />
          )}
        </Field>
        <Field label={t("requests.status")}>
          {(ids) => (
            <Select
              {...ids}
              value={search.status ?? ""}
              onChange={(status) => onChange({ status })}
              options={statuses.map(([value, label]) => ({
                value,
                label: label ? t(label) : value,
              }))}
            />
          )}
        </Field>
        <Field label={t("requests.internal")}>
          {(ids) => (
            <Select
              {...ids}
              value={search.internal ?? ""}
              onChange={(internal) => onChange({ internal })}
              options={[
                { value: "", label: t("requests.internal.hidden") },
                { value: "true", label: t("requests.internal.shown") },
              ]}
            />
          )}
        </Field>
        {(["from", "to"] as const).map((name) => (
          <Field key={name} label={t(`requests.${name}`)}>
            {(ids) => (
              <Input
                key={search[name] ?? ""}
                {...ids}
                type="datetime-local"
                defaultValue={toInputTime(search[name])}
                onBlur={({ target: { value, defaultValue } }) => {
                  if (value !== defaultValue)
                    onChange({ [name]: value === "" ? "" : fromInputTime(value) });
                }}
              />
            )}
          </Field>
        ))}
        {values.map(([name, label]) => (
          <ValueFilter
            key={name}
            name={name}
            label={t(label)}
            search={search}
            onChange={onChange}
          />
        ))}
        {texts.map(([name, label]) => (
          <Field key={name} label={t(label)}>
            {(ids) => (
              <Input
                // A new element when the address changes, so that it shows the new value.
                key={search[name] ?? ""}
                {...ids}
                defaultValue={search[name] ?? ""}
                inputMode={isNumber(name) ? "decimal" : "text"}
                onBlur={({ target: { value, defaultValue } }) => {
                  if (value.trim() !== defaultValue) onChange({ [name]: value.trim() });
                }}
                onKeyDown={(event) => {
                  if (event.key === "Enter") event.currentTarget.blur();
                }}
              />
            )}
          </Field>
        ))}
        <div className="flex items-end">
          <Button onClick={onClear}>{t("requests.clear")}</Button>
        </div>
      </div>
    </details>
  );
}

interface ValueFilterProps extends Pick<RequestFiltersProps, "search" | "onChange"> {
  readonly name: UsageFilterName;
  readonly label: string;
}

function ValueFilter({ name, label, search, onChange }: ValueFilterProps) {
  const t = useT();
  const [isNeeded, setNeeded] = useState(false);
  const from = search.from ?? startOf(search.range ?? "quarter");
  const options = useDimensionValues(name, { from, to: search.to }, isNeeded);
  const value = search[name] ?? "";
  return (
    <Field label={label}>
      {(ids) => (
        <Combobox
          {...ids}
          value={value}
          allowsOther
          placeholder={t("requests.any")}
          options={[...(value === "" ? [] : [{ value: "", label: t("requests.any") }]), ...options]}
          onOpen={() => setNeeded(true)}
          onChange={(chosen) => onChange({ [name]: chosen })}
        />
      )}
    </Field>
  );
}
