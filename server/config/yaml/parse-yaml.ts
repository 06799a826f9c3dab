/**
 * YAML text -> plain values with the location of each, and environment variables (`${...}`) expanded; syntax errors
 * with their lines. Does not interpret the values.
 */
import {
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Node,
  parseDocument,
  visit,
} from "yaml";
import type { Path, Place } from "./problem.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ParsedYaml {
  /** `undefined` if the text is not valid YAML; the notes have the reasons. */
  readonly raw: unknown;
  readonly notes: readonly Note[];
  /** The values of environment variables in the file. */
  readonly secrets: ReadonlySet<string>;
  locate(place: Place): LinePosition;
}

interface Note extends Place {
  readonly message: string;
}

export function parseYaml(source: string, env: Environment): ParsedYaml {
  const positionOf = positionsIn(source);
  let document: Document.Parsed | undefined;
  const secrets = new Set<string>();
  const result = (raw: unknown, notes: readonly Note[]): ParsedYaml => ({
    raw,
    notes,
    secrets,
    locate: (place) => positionOf(place.offset ?? (document ? offsetOf(document, place) : 0)),
  });

  try {
    // `prettyErrors` would quote the file, which may contain secrets.
    const options = { prettyErrors: false, stringKeys: true, uniqueKeys: false } as const;
    document = parseDocument(source, options);
    const broken = brokenSyntax(document, source, positionOf);
    if (broken.length > 0) return result(undefined, broken);
    const aliases = badAliases(document);
    if (aliases.length > 0) return result(undefined, aliases);
    const notes = [...duplicateKeys(document), ...expandVariables(document, env, secrets)];
    // An empty file is allowed.
    return result(document.toJS({ maxAliasCount: maxAliases }) ?? {}, notes);
  } catch {
    // The library throws on excessive depth and on aliases of aliases.
    return result(undefined, [
      { path: [], message: "is nested too deeply, or has too many aliases" },
    ]);
  }
}

/** A process has the variables that it was started with. */
const howToSet = "set it, and restart a gateway that is running";

/** Expands each `${...}` and adds values from the environment to `secrets`. */
function expandVariables(
  document: Document.Parsed,
  env: Environment,
  secrets: Set<string>,
): Note[] {
  const notes: Note[] = [];
  const expand = (reference: Reference, path: Path): string => {
    if (reference.kind === "mistake") {
      notes.push({ path, message: reference.message });
      return "";
    }
    const { name, fallback } = reference;
    const value = env[name];
    // As in a shell, the fallback after `:-` also replaces an empty variable.
    if (typeof value === "string" && (value !== "" || fallback === undefined)) {
      secrets.add(value);
      return value;
    }
    if (fallback === undefined)
      notes.push({ path, message: `the environment variable ${name} is not set: ${howToSet}` });
    return fallback ?? "";
  };
  visit(document, {
    Scalar(role, node, ancestors) {
      const { value } = node;
      if (typeof value !== "string") return;
      const path = pathOf(ancestors, node);
      node.value = expandReferences(value, (reference) => {
        if (role !== "key") return expand(reference, path);
        const offset = startOf(node) ?? 0;
        notes.push({ path: path.slice(0, -1), offset, message: "a key cannot contain a variable" });
        return "";
      });
    },
  });
  return notes;
}

const maxAliases = 100;

/** One per line: after the first error the parser reports many that are only its consequences. */
function brokenSyntax(
  document: Document.Parsed,
  source: string,
  positionOf: (offset: number) => LinePosition,
): Note[] {
  const lines = source.split("\n");
  const byLine = new Map<number, Note>();
  for (const { code, pos } of [...document.errors, ...document.warnings]) {
    const { line } = positionOf(pos[0]);
    if (byLine.has(line)) continue;
    const message = messages[code] ?? "is not valid YAML";
    const hint = lines[line - 1]?.includes("${") ? `; write "\${NAME}" in quotes` : "";
    byLine.set(line, { path: [], offset: pos[0], message: message + hint });
  }
  return [...byLine.values()];
}

// Not the library's own messages: some quote the file, which may contain secrets.
const messages: Partial<Record<ErrorCode, string>> = {
  BAD_DQ_ESCAPE: "an unknown escape in double-quoted text",
  BAD_INDENT: "wrong indentation, or a bracket that is not closed",
  BAD_SCALAR_START: "text cannot start with this character: put it in quotes",
  BLOCK_AS_IMPLICIT_KEY: "an extra colon, or a missing line break",
  KEY_OVER_1024_CHARS: "the key is too long",
  MISSING_CHAR: "a quote, comma, colon or bracket is missing",
  MULTILINE_IMPLICIT_KEY: "a key must fit on one line: is a colon missing?",
  MULTIPLE_DOCS: "only one document is read: remove the second ---",
  NON_STRING_KEY: "a key must be plain text",
  RESOURCE_EXHAUSTION: "is nested too deeply",
  TAB_AS_INDENT: "a tab is used for indentation: use spaces",
  TAG_RESOLVE_FAILED: "an unknown !tag",
  UNEXPECTED_TOKEN: "unexpected text here: is a quote, comma or line break missing?",
};

function badAliases(document: Document.Parsed): Note[] {
  const notes: Note[] = [];
  let count = 0;
  visit(document, {
    Alias(_, node, ancestors) {
      const offset = node.range?.[0] ?? 0;
      count += 1;
      // The count is checked first, because resolving an alias reads the whole file.
      if (count > maxAliases) {
        notes.push({ path: [], offset, message: `more than ${maxAliases} aliases` });
        return visit.BREAK;
      }
      const value = node.resolve(document);
      if (!value)
        notes.push({
          path: [],
          offset,
          message: "an alias without an anchor of this name before it",
        });
      else if (ancestors.includes(value))
        notes.push({ path: [], offset, message: "an alias inside the value that it repeats" });
    },
  });
  return notes;
}

/** Linear in the size of the file; the library's own check is quadratic. */
function duplicateKeys(document: Document.Parsed): Note[] {
  const notes: Note[] = [];
  visit(document, {
    Map(_, node, ancestors) {
      const seen = new Set<unknown>();
      for (const { key } of node.items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value))
          notes.push({
            path: [...pathOf(ancestors, node), String(key.value)],
            offset: key.range?.[0] ?? 0,
            message: "duplicate key",
          });
        seen.add(key.value);
      }
    },
  });
  return notes;
}

export interface LinePosition {
  readonly line: number;
  readonly column: number;
}

/** Computed from the text: the YAML library's own counter misses lines in some broken files. */
function positionsIn(text: string): (offset: number) => LinePosition {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - starts[low]! + 1 };
  };
}

/** The path from the root to a node, given its ancestors. */
function pathOf(ancestors: readonly unknown[], node: unknown): Path {
  const nodes = [...ancestors, node];
  const path: (string | number)[] = [];
  for (const [i, step] of nodes.entries()) {
    if (isPair(step) && isScalar(step.key)) path.push(String(step.key.value));
    if (isSeq(step) && i < nodes.length - 1) path.push(step.items.indexOf(nodes[i + 1]));
  }
  return path;
}

/** The offset of the node at a path, or of its nearest existing ancestor. */
function offsetOf(document: Document.Parsed, { path, on }: Place): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const [depth, step] of path.entries()) {
    const child = childOf(isAlias(node) ? node.resolve(document) : node, step);
    if (!child) break;
    node = on === "key" && depth === path.length - 1 ? child.key : child.value;
    offset = startOf(node) ?? startOf(child.key) ?? offset;
  }
  return offset;
}

/** The entry of a mapping or of a list. An entry of a list has no key, so `key` is its value too. */
function childOf(
  node: unknown,
  step: string | number,
): { readonly key: unknown; readonly value: unknown } | undefined {
  if (isMap(node)) return node.items.findLast(({ key }) => isScalar(key) && key.value === step);
  if (!isSeq(node) || typeof step !== "number") return undefined;
  return { key: node.items[step], value: node.items[step] };
}

const startOf = (node: unknown): number | undefined =>
  (node as Partial<Node> | null | undefined)?.range?.[0];

/**
 * Environment variables in the values of vexel.yaml: `${NAME}`, `${NAME:-default}` and the escape `$${`. They are
 * expanded after YAML parsing, so the value of a variable is never parsed as YAML.
 */
type Reference =
  | { readonly kind: "variable"; readonly name: string; readonly fallback: string | undefined }
  | { readonly kind: "mistake"; readonly message: string };

// In this order: escaped, well formed, closed with an invalid name, not closed. The last matches only the name, so that
// a message about a missing brace does not quote the rest of the value.
const shape = /\$\$\{|\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}|\$\{[^{}]*\}|\$\{\w*/g;

const expandReferences = (text: string, replace: (reference: Reference) => string): string =>
  text.replace(shape, (found: string, name?: string, fallback?: string) => {
    if (found === "$${") return "${";
    if (name !== undefined) return replace({ kind: "variable", name, fallback });
    const mistake = found.endsWith("}") ? "is not a valid variable name" : "is not closed";
    const message = `${found} ${mistake}: write \${NAME} or \${NAME:-default}, or $\${ for a literal \${`;
    return replace({ kind: "mistake", message });
  });
