/** Safe access to members of untyped JSON: upstream responses and passthrough fields. */
import type { ExtraFields } from "../../contract.ts";
import { invalidResponse } from "../../invalid-response.ts";

/** A member of an untyped value. */
export const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as ExtraFields)[name]
    : undefined;

/** A member that is a non-empty text. */
export function textIn(value: unknown, name: string): string | undefined {
  const text = memberOf(value, name);
  return typeof text === "string" && text !== "" ? text : undefined;
}

/** A member that is a text or a number, such as an error code, as text. Empty if the member is neither. */
export function codeIn(value: unknown, name: string): string {
  const code = memberOf(value, name);
  return typeof code === "string" || typeof code === "number" ? String(code) : "";
}

/** An empty list if the value is not a list. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** A member that must be a list. */
export function listIn(response: unknown, name: string): readonly unknown[] {
  const list = memberOf(response, name);
  if (!Array.isArray(list)) throw invalidResponse(`it has no list called \`${name}\``);
  return list;
}

/** Undefined if the value is not an object. */
export const asObject = (value: unknown): ExtraFields | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as ExtraFields)
    : undefined;

/** An empty object if the value is not an object. */
export const objectOf = (value: unknown): ExtraFields => asObject(value) ?? {};

/** The members with these names that have a value. They go into the client's response. */
export function extraFieldsOf(
  value: unknown,
  names: readonly string[],
): { readonly extraFields?: ExtraFields } {
  const found = names.flatMap((name): [string, unknown][] => {
    const member = memberOf(value, name);
    return member === undefined || member === null || member === "" ? [] : [[name, member]];
  });
  return found.length > 0 ? { extraFields: Object.fromEntries(found) } : {};
}

export const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0;

/** The member `id` of each entry of the list `list`. Undefined if there is no such list. */
export const membersOfList =
  (list: string, id: string) =>
  (body: unknown): readonly unknown[] | undefined => {
    const entries = memberOf(body, list);
    return Array.isArray(entries) ? entries.map((entry) => memberOf(entry, id)) : undefined;
  };
