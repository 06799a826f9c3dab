/** Values of columns of LiteLLM's tables. An export may have them as text, in the notation of PostgreSQL. */

/** Undefined if no time that can be read. */
export function timeOf(value: unknown): number | undefined {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : value.getTime();
  if (typeof value !== "string") return undefined;
  const [, day, clock = "00:00", zone = "Z"] = timestamp.exec(value.trim()) ?? [];
  if (day === undefined) return undefined;
  const offset = /^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone.toUpperCase();
  const time = Date.parse(`${day}T${clock}${offset}`);
  return Number.isNaN(time) ? undefined : time;
}

/** LiteLLM stores times in UTC, in columns without a zone. */
const timestamp =
  /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(Z|[+-]\d\d(?::?\d\d)?)?)?$/i;

export const isTrue = (value: unknown): boolean =>
  value === true || /^(?:t|true|1)$/i.test(String(value ?? ""));

/** A list of names. Undefined if no list that can be read. */
export function namesOf(value: unknown): readonly string[] | undefined {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value))
    return value.every((name) => typeof name === "string") ? value : undefined;
  if (typeof value !== "string") return undefined;
  const text = value.trim();
  if (text.startsWith("[")) return jsonNames(text);
  return arrayLiteral.test(text) ? literalNames(text) : undefined;
}

function jsonNames(text: string): readonly string[] | undefined {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? namesOf(list) : undefined;
  } catch {
    return undefined;
  }
}

/** Such as `{search,"a model"}`. */
const element = /"(?:[^"\\]|\\.)*"|[^\s",{}\\]+/;
const arrayLiteral = new RegExp(
  `^\\{(?:\\s*(?:${element.source})\\s*(?:,\\s*(?:${element.source})\\s*)*)?\\}$`,
);

const literalNames = (text: string): readonly string[] =>
  [...text.slice(1, -1).matchAll(new RegExp(element, "g"))].map(([name]) =>
    name.startsWith('"') ? name.slice(1, -1).replaceAll(/\\(.)/g, "$1") : name,
  );

export const hasContent = (value: unknown): boolean =>
  typeof value === "object" && value !== null
    ? value instanceof Date || Object.keys(value).length > 0
    : value !== undefined && value !== null && value !== false && value !== 0 && value !== "";
