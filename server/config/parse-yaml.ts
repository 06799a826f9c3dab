/** YAML text -> plain values with the location of each, and `${...}` expanded. Does not interpret the values. */
import { type Document, parseDocument, visit } from "yaml";
import { type LinePosition, positionsIn } from "./lines.ts";
import type { Note, Path } from "./problem.ts";
import { type Masked, mask, type Reference } from "./references.ts";
import { badAliases, brokenSyntax, duplicateKeys, maxAliases } from "./syntax.ts";
import { offsetOf, pathOf } from "./yaml-location.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ParsedYaml {
  /** `undefined` if the text is not valid YAML; the notes have the reasons. */
  readonly raw: unknown;
  readonly notes: readonly Note[];
  locate(note: Note): LinePosition;
  /** Quotes a value of the file in a message, unless it came from the environment: it may be a secret. */
  show(text: string): string;
}

export function parseYaml(source: string, env: Environment): ParsedYaml {
  const positionOf = positionsIn(source);
  let document: Document.Parsed | undefined;
  const secrets = new Set<string>();
  const result = (raw: unknown, notes: readonly Note[]): ParsedYaml => ({
    raw,
    notes,
    locate: (note) => positionOf(note.offset ?? (document ? offsetOf(document, note) : 0)),
    show: (text) => quote(text, secrets),
  });

  const masked = mask(source);
  if (!masked) return result(undefined, [{ path: [], message: "has too many variables" }]);
  try {
    // `prettyErrors` would quote the file, which may contain secrets.
    const options = { prettyErrors: false, stringKeys: true, uniqueKeys: false } as const;
    document = parseDocument(masked.text, options);
    const broken = brokenSyntax(document, positionOf);
    if (broken.length > 0) return result(undefined, broken);
    const aliases = badAliases(document);
    if (aliases.length > 0) return result(undefined, aliases);
    const notes = [...duplicateKeys(document), ...expandVariables(document, masked, env, secrets)];
    // An empty file is allowed.
    return result(document.toJS({ maxAliasCount: maxAliases }) ?? {}, notes);
  } catch {
    // The library throws on excessive depth and on aliases of aliases.
    return result(undefined, [
      { path: [], message: "is nested too deeply, or has too many aliases" },
    ]);
  }
}

/** Expands each `${...}` and adds values from the environment to `secrets`. */
function expandVariables(
  document: Document.Parsed,
  masked: Masked,
  env: Environment,
  secrets: Set<string>,
): Note[] {
  const notes: Note[] = [];
  const expand = ({ expansion, offset }: Reference, path: Path): string => {
    if (expansion.kind === "text") return expansion.text;
    if (expansion.kind === "variable") {
      const { name, fallback } = expansion;
      const value = env[name];
      // As in a shell, the fallback after `:-` also replaces an empty variable.
      if (typeof value === "string" && (value !== "" || fallback === undefined)) {
        secrets.add(value);
        return value;
      }
      if (fallback !== undefined) return fallback;
      notes.push({ path, offset, message: `the environment variable ${name} is not set` });
      return "";
    }
    notes.push({ path, offset, message: expansion.message });
    return "";
  };
  visit(document, {
    Scalar(role, node, ancestors) {
      const { value } = node;
      if (typeof value !== "string") return;
      node.value = masked.expand(value, (reference) => {
        const path = pathOf(ancestors, node);
        if (role !== "key") return expand(reference, path);
        const { offset } = reference;
        notes.push({ path: path.slice(0, -1), offset, message: "a key cannot contain a variable" });
        return "";
      });
    },
  });
  return notes;
}

const maxQuoted = 80;

function quote(text: string, secrets: ReadonlySet<string>): string {
  // A shorter value reveals nothing, and would match almost any text.
  for (const secret of secrets)
    if (secret.length >= 4 && text.includes(secret)) return "(a hidden value)";
  return JSON.stringify(text.length > maxQuoted ? `${text.slice(0, maxQuoted - 1)}…` : text);
}
