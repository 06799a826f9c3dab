/** The values of the upstream form, and the JSON of the admin API. */
import type { FormField, SecretValue, UpstreamValue } from "../../../../contract/admin.ts";

export const isSecretValue = (value: unknown): value is SecretValue =>
  typeof value === "object" && value !== null && "$secret" in value;

interface Pair {
  readonly name: string;
  readonly value: string;
}

/** `name`: a member, or a member of an object, such as `auth.type`. */
export function valueAt(value: object | undefined, name: string): unknown {
  return name
    .split(".")
    .reduce<unknown>((inside, member) => (inside as Members | undefined)?.[member], value);
}

type Members = Readonly<Record<string, unknown>>;

/** An object with the members of these names. */
function nested(entries: readonly (readonly [name: string, value: unknown])[]) {
  const values: Record<string, unknown> = {};
  for (const [name, value] of entries) {
    const [first = "", member] = name.split(".");
    if (member === undefined) values[first] = value;
    else values[first] = { ...(values[first] as Members | undefined), [member]: value };
  }
  return values;
}

/** The stored values. The input of a stored secret is empty until it is replaced. */
export const valuesOf = (
  fields: readonly FormField[],
  stored: UpstreamValue,
): Record<string, unknown> =>
  nested(
    fields.flatMap(({ name, type }): [string, unknown][] => {
      const value = valueAt(stored, name);
      if (type === "pairs") return [[name, pairsOf(value)]];
      return isSecretValue(value) ? [] : [[name, value]];
    }),
  );

const pairsOf = (value: unknown): readonly Pair[] =>
  Object.entries(value ?? {}).map(([name, each]: [string, unknown]) => ({
    name,
    value: isSecretValue(each) ? "" : String(each),
  }));

/** The members of the upstream. A stored secret whose input is empty is kept. */
export const membersOf = (
  fields: readonly FormField[],
  values: Readonly<Record<string, unknown>>,
  stored: UpstreamValue | undefined,
): Record<string, unknown> =>
  nested(
    fields.flatMap(({ name, type }): [string, unknown][] => {
      const before = valueAt(stored, name);
      if (type !== "pairs") {
        const value = valueAt(values, name) ?? (isSecretValue(before) ? before : undefined);
        return value === undefined ? [] : [[name, value]];
      }
      const pairs = ((values[name] ?? []) as readonly Pair[]).filter(
        (pair) => pair.name.trim() !== "",
      );
      const known = (before ?? {}) as Readonly<Record<string, unknown>>;
      const members = pairs.map((pair) => [pair.name, pair.value || (known[pair.name] ?? "")]);
      return pairs.length === 0 ? [] : [[name, Object.fromEntries(members)]];
    }),
  );
