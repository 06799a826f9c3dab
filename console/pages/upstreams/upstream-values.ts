/** The values of the upstream form: texts in inputs, and the JSON of the admin API. */
import type { FormField, SecretValue, UpstreamValue } from "../../../contract/admin.ts";

export type Pair = readonly [name: string, value: string | SecretValue];
export type FieldValue = string | SecretValue | readonly Pair[];
export type FieldValues = Readonly<Record<string, FieldValue>>;

export const isSecretValue = (value: unknown): value is SecretValue =>
  typeof value === "object" && value !== null && "$secret" in value;

/** The stored values; a stored secret stays a placeholder until it is replaced. */
export const valuesOf = (
  fields: readonly FormField[],
  value: UpstreamValue | undefined,
): FieldValues =>
  Object.fromEntries(
    fields.flatMap(({ name, type }): [string, FieldValue][] => {
      const member = value?.[name];
      if (member === undefined) return [];
      if (isSecretValue(member)) return [[name, member]];
      if (type === "pairs") return [[name, Object.entries(member as Record<string, string>)]];
      return [[name, String(member)]];
    }),
  );

/** The members of the upstream. Empty inputs are absent. */
export const membersOf = (
  fields: readonly FormField[],
  values: FieldValues,
): Record<string, unknown> =>
  Object.fromEntries(
    fields.flatMap(({ name, type }): [string, unknown][] => {
      const value = values[name];
      if (value === undefined || value === "") return [];
      if (isSecretValue(value)) return [[name, value]];
      if (typeof value !== "string") {
        const pairs = value.filter(([header]) => header.trim() !== "");
        return pairs.length === 0 ? [] : [[name, Object.fromEntries(pairs)]];
      }
      return [[name, typedText(type, value)]];
    }),
  );

function typedText(type: FormField["type"], text: string): string | number | boolean {
  if (type === "number") return Number(text);
  if (type === "boolean") return text === "true";
  return type === "lines" ? text : text.trim();
}
