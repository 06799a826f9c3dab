/**
 * Environment variables in vexel.yaml: `${NAME}`, `${NAME:-default}` and the escape `$${`. They are masked before YAML
 * parsing and expanded afterwards. Each placeholder has the length of the text that it replaces, so locations in the
 * file stay correct and no value is ever parsed as YAML.
 */

export interface Reference {
  /** Offset in the file. */
  readonly offset: number;
  readonly length: number;
  readonly expansion:
    | { readonly kind: "text"; readonly text: string }
    | { readonly kind: "variable"; readonly name: string; readonly fallback?: string }
    | { readonly kind: "mistake"; readonly message: string };
}

export interface Masked {
  readonly text: string;
  /** Replaces the placeholders in a parsed value by the expansion of each reference. */
  expand(value: string, expandReference: (reference: Reference) => string): string;
}

const maxReferences = 10_000;

// In this order: escaped, well formed, closed with an invalid name, not closed. The last matches only the name, so that
// a missing brace is reported as such and does not swallow the rest of a flow map.
const shape =
  /\$\$\{[^}\r\n]*\}?|\$\{([A-Za-z_]\w*)(?::-([^}\r\n]*))?\}|\$\{[^{}\r\n,[\]"'#:]*\}|\$\{\w*/g;

/** `undefined` if there are more references than placeholders. */
export function mask(source: string): Masked | undefined {
  const references: Reference[] = [];
  const first = unusedBlock(source);
  if (first === undefined) return undefined;
  const text = source.replace(shape, (found: string, name?: string, ...rest: unknown[]) => {
    // The groups are followed by the offset and the whole text.
    const [fallback, offset] = rest as [string | undefined, number];
    references.push({
      offset,
      length: found.length,
      expansion: expansionOf(found, name, fallback),
    });
    return placeholder(first + references.length - 1, found.length);
  });
  if (references.length > maxReferences) return undefined;
  return {
    text,
    expand: (value, expandReference) =>
      expandPlaceholders(value, first, references, expandReference),
  };
}

function expansionOf(found: string, name?: string, fallback?: string): Reference["expansion"] {
  if (found.startsWith("$$")) return { kind: "text", text: found.slice(1) };
  if (name !== undefined)
    return { kind: "variable", name, ...(fallback !== undefined && { fallback }) };
  const mistake = found.endsWith("}") ? "is not a valid variable name" : "is not closed";
  return {
    kind: "mistake",
    message: `${found} ${mistake}: write \${NAME} or \${NAME:-default}, or $\${ for a literal \${`,
  };
}

function expandPlaceholders(
  value: string,
  first: number,
  references: readonly Reference[],
  expandReference: (reference: Reference) => string,
): string {
  let filled = "";
  let at = 0;
  for (const { 0: character, index } of value.matchAll(privateUse)) {
    const reference = references[(character.codePointAt(0) ?? 0) - first];
    if (reference === undefined || index < at) continue;
    filled += value.slice(at, index) + expandReference(reference);
    at = index + reference.length;
  }
  return filled + value.slice(at);
}

// The private-use planes: one character there is two code units, as long as the shortest reference, `${`.
const privateUse = /[\u{F0000}-\u{10FFFD}]/gu;
const start = 0xf0000;
const blocks = 13;

const placeholder = (codePoint: number, length: number): string =>
  String.fromCodePoint(Math.min(codePoint, 0x10fffd)).padEnd(length, "\uE000");

/** Icon fonts use these characters too: placeholders come from a block that the file does not use. */
function unusedBlock(source: string): number | undefined {
  const used = new Set<number>();
  for (const { 0: character } of source.matchAll(privateUse))
    used.add(Math.floor(((character.codePointAt(0) ?? 0) - start) / maxReferences));
  for (let block = 0; block < blocks; block++)
    if (!used.has(block)) return start + block * maxReferences;
  return undefined;
}
