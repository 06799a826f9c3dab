/**
 * Shortens long values of the audit log, so that a user who changes an entity again and again cannot fill the disk. Of
 * a long list, the entries that the other value does not have are recorded first: they are what has changed.
 */

const maxItems = 20;
const maxMembers = 50;
const maxCharacters = 500;

/** `other`: the value before or after the change. */
export function shortenAudited(value: unknown, other: unknown): unknown {
  if (typeof value === "string") return shortText(value);
  if (Array.isArray(value)) return shortList(value, Array.isArray(other) ? other : []);
  if (typeof value !== "object" || value === null) return value;
  const otherMembers = typeof other === "object" && other !== null ? { ...other } : {};
  return shortObject({ ...value }, otherMembers);
}

const shortText = (text: string): string =>
  text.length > maxCharacters
    ? `${text.slice(0, maxCharacters)}… (${text.length} characters)`
    : text;

function shortList(list: readonly unknown[], other: readonly unknown[]): readonly unknown[] {
  if (list.length <= maxItems) return list.map((item, at) => shortenAudited(item, other[at]));
  const known = new Set(other.map((item) => JSON.stringify(item)));
  const changed = list.filter((item) => !known.has(JSON.stringify(item)));
  const shown = changed.slice(0, maxItems).map((item) => shortenAudited(item, undefined));
  return [...shown, `… (${list.length} entries)`];
}

function shortObject(
  value: Readonly<Record<string, unknown>>,
  other: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const members = Object.entries(value);
  const shown = members
    .slice(0, maxMembers)
    .map(([name, member]) => [name, shortenAudited(member, other[name])]);
  if (members.length > maxMembers) shown.push(["…", `${members.length} members`]);
  return Object.fromEntries(shown);
}
