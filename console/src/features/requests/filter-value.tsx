/** The control for the value of a filter: a choice of a few values, a choice of values in the ledger, or free text. */
import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { canSomewhere } from "../../../../contract/admin/roles.ts";
import type { User } from "../../../../contract/admin.ts";
import { listQuery } from "../../api/lists.ts";
import { sessionQuery } from "../../api/session.ts";
import type { MessageKey } from "../../i18n/message-keys.ts";
import { useT } from "../../i18n/messages.ts";
import { startOf } from "../../lib/range.ts";
import { Combobox } from "../../ui/combobox.tsx";
import { Input } from "../../ui/input.tsx";
import type { UsageFilterName } from "../usage/usage-search.ts";
import { useDimensionValues } from "../usage/use-dimension-values.ts";
import type { RequestsSearch } from "./requests-search.ts";

/** In the order in which they are offered. The project has a switcher of its own. */
export const chipNames = [
  "status",
  "model",
  "key",
  "target",
  "tag",
  "end_user",
  "created_by",
  "error",
  "request_id",
  "min_latency_ms",
  "max_latency_ms",
  "min_cost",
  "max_cost",
] as const;
export type ChipName = (typeof chipNames)[number];

const dimensions: readonly string[] = ["model", "key", "target", "tag", "end_user"];
const isDimension = (name: ChipName): name is ChipName & UsageFilterName =>
  dimensions.includes(name);

const statuses: readonly (readonly [string, MessageKey | undefined])[] = [
  ["ok", "requests.status.ok"],
  ["error", "requests.status.error"],
  ["refused", "figure.refused"],
  ["failed", "figure.errorCount"],
  ["4xx", undefined],
  ["5xx", undefined],
];

function useOptions(name: ChipName, search: RequestsSearch, isNeeded: boolean) {
  const t = useT();
  const from = search.from ?? startOf(search.range ?? "quarter");
  const values = useDimensionValues(
    isDimension(name) ? name : "model",
    { from, to: search.to },
    isNeeded && isDimension(name),
    search.project,
  );
  const { data: session } = useSuspenseQuery(sessionQuery);
  const mayListUsers = canSomewhere(session?.user, "administer");
  const users = useQuery({
    ...listQuery<User>("/users"),
    enabled: isNeeded && name === "created_by" && mayListUsers,
  });
  if (name === "created_by")
    return (users.data?.data ?? []).map((user) => ({ value: user.id, label: user.name }));
  if (name === "status")
    return statuses.map(([value, label]) => ({ value, label: label ? t(label) : value }));
  return values;
}

const named: readonly ChipName[] = ["key", "status", "created_by"];

/** What a chip shows: of these, names differ from their values. */
export function useFilterLabel(name: ChipName, search: RequestsSearch): string {
  const options = useOptions(name, search, named.includes(name));
  const value = search[name] ?? "";
  if (!named.includes(name)) return value;
  return options.find((option) => option.value === value)?.label ?? value;
}

interface FilterValueProps {
  readonly name: ChipName;
  readonly search: RequestsSearch;
  readonly onChoose: (value: string) => void;
  readonly id: string;
}

export function FilterValue({ name, search, onChoose, ...ids }: FilterValueProps) {
  const options = useOptions(name, search, true);
  if (name === "status" || name === "created_by" || isDimension(name)) {
    // A status such as 404 can be typed as well.
    return <Combobox {...ids} value="" allowsOther options={options} onChange={onChoose} />;
  }
  return (
    <Input
      {...ids}
      inputMode={/^(?:min|max)_/.test(name) ? "decimal" : "text"}
      defaultValue={search[name] ?? ""}
      onBlur={({ target: { value, defaultValue } }) => {
        if (value.trim() !== defaultValue) onChoose(value.trim());
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter") event.currentTarget.blur();
      }}
    />
  );
}
