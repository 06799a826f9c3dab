/** YAML text -> plain values with the location of each, and `${...}` expanded. Does not interpret the values. */
import { type Document, parseDocument, visit } from "yaml";
import { type LinePosition, positionsIn } from "./lines.ts";
import type { Note, Path } from "./problem.ts";
import { type Masked, mask, type Reference } from "./references.ts";
import { badAliases, brokenSyntax, duplicateKeys, mostAliases } from "./syntax.ts";
import { offsetOf, pathOf } from "./yaml-location.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ParsedYaml {
  /** `undefined` when the text is not YAML at all; the notes say why. */
  readonly raw: unknown;
  readonly notes: readonly Note[];
  place(note: Note): LinePosition;
  /** Quotes a value of the file in a message, unless it came out of the environment: those may be secrets. */
  show(text: string): string;
}

export function parseYaml(source: string, env: Environment): ParsedYaml {
  const placeOf = positionsIn(source);
  let document: Document.Parsed | undefined;
  const secrets = new Set<string>();
  const give = (raw: unknown, notes: readonly Note[]): ParsedYaml => ({
    raw,
    notes,
    place: (note) => placeOf(note.offset ?? (document ? offsetOf(document, note) : 0)),
    show: (text) => quote(text, secrets),
  });

  const masked = mask(source);
  if (!masked) return give(undefined, [{ path: [], message: "holds too many variables" }]);
  try {
    // `prettyErrors` would quote the file, and with it the secrets there.
    const options = { prettyErrors: false, stringKeys: true, uniqueKeys: false } as const;
    document = parseDocument(masked.text, options);
    const broken = brokenSyntax(document, placeOf);
    if (broken.length > 0) return give(undefined, broken);
    const loose = badAliases(document);
    if (loose.length > 0) return give(undefined, loose);
    const notes = [...duplicateKeys(document), ...fillIn(document, masked, env, secrets)];
    // An empty file says nothing, which is allowed.
    return give(document.toJS({ maxAliasCount: mostAliases }) ?? {}, notes);
  } catch {
    // The library throws on what it finds excessive: depth, or aliases of aliases.
    return give(undefined, [
      { path: [], message: "nests too deeply, or repeats itself too often" },
    ]);
  }
}

/** Puts what each `${...}` means in its place, and what was put there in `secrets`. */
function fillIn(
  document: Document.Parsed,
  masked: Masked,
  env: Environment,
  secrets: Set<string>,
): Note[] {
  const notes: Note[] = [];
  const meaning = ({ means, offset }: Reference, path: Path): string => {
    if (means.kind === "text") return means.text;
    if (means.kind === "variable") {
      const { name, fallback } = means;
      const value = env[name];
      // As in a shell, `:-` stands in for an empty variable too.
      if (typeof value === "string" && (value !== "" || fallback === undefined)) {
        secrets.add(value);
        return value;
      }
      if (fallback !== undefined) return fallback;
      notes.push({ path, offset, message: `the environment variable ${name} is not set` });
      return "";
    }
    notes.push({ path, offset, message: means.message });
    return "";
  };
  visit(document, {
    Scalar(role, node, ancestors) {
      const { value } = node;
      if (typeof value !== "string") return;
      node.value = masked.fill(value, (reference) => {
        const path = pathOf(ancestors, node);
        if (role !== "key") return meaning(reference, path);
        const { offset } = reference;
        notes.push({ path: path.slice(0, -1), offset, message: "a key cannot hold a variable" });
        return "";
      });
    },
  });
  return notes;
}

const longest = 80;

function quote(text: string, secrets: ReadonlySet<string>): string {
  // Of a shorter one nothing can be told, and it would be found everywhere.
  for (const secret of secrets)
    if (secret.length >= 4 && text.includes(secret)) return "(a hidden value)";
  return JSON.stringify(text.length > longest ? `${text.slice(0, longest - 1)}…` : text);
}
