/**
 * `vexel.yaml` as text -> the entries of its lists as JSON, each with its line, and its other members. Loads no
 * schemas, so that the thread that parses a changed file starts fast.
 */
import type { OriginKind } from "../snapshot.ts";
import { type Environment, type LinePosition, parseYaml } from "./parse-yaml.ts";
import type { Place } from "./problem.ts";

/** By the kind of their entries. */
export const listsOfFile = {
  upstream: "upstreams",
  model: "models",
  project: "projects",
  webhook: "webhooks",
  alert: "alerts",
  key: "keys",
} as const satisfies Record<OriginKind, string>;

export type ListName = (typeof listsOfFile)[OriginKind];

export const listNames: readonly ListName[] = Object.values(listsOfFile);

export const isListName = (name: unknown): name is ListName =>
  (listNames as readonly unknown[]).includes(name);

/** An entry before validation. */
export interface ListEntry {
  /** From 1. */
  readonly line: number;
  readonly json: string;
}

/** Plain values, which one thread can send to another. */
export interface ParsedFile {
  /** What is not in `lists`. No map if the file is none. */
  readonly members: unknown;
  readonly lists: Readonly<Partial<Record<ListName, readonly ListEntry[]>>>;
  /** The problems that the parser found. */
  readonly notes: readonly (Place & { readonly message: string })[];
  /** Whether the text is YAML. */
  readonly isYaml: boolean;
  /** The values of environment variables, which messages must not show. */
  readonly secrets: ReadonlySet<string>;
}

export interface FileToParse {
  readonly text: string;
  readonly env: Environment;
}

export interface ParsedText {
  readonly file: ParsedFile;
  locate(places: readonly Place[]): readonly LinePosition[];
}

/** How deeply the schema of an entry is nested. */
const entryDepth = 5;

/** A key of an entry without a value counts as absent. */
export const withoutNulls = (entry: unknown): unknown => withoutNullsIn(entry, entryDepth);

function withoutNullsIn(value: unknown, depth: number): unknown {
  if (depth === 0 || !(isMap(value) || Array.isArray(value))) return value;
  if (Array.isArray(value)) return value.map((entry) => withoutNullsIn(entry, depth - 1));
  const present = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(
    present.map(([key, member]) => [key, withoutNullsIn(member, depth - 1)]),
  );
}

export const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function parseFile({ text, env }: FileToParse): ParsedText {
  const { raw, notes, secrets, locate } = parseYaml(text, env);
  const lists: Partial<Record<ListName, readonly ListEntry[]>> = {};
  const members = isMap(raw) ? { ...raw } : raw;
  for (const list of listNames) {
    const entries = isMap(raw) ? raw[list] : undefined;
    if (!Array.isArray(entries)) continue;
    Reflect.deleteProperty(members as object, list);
    lists[list] = entries.map((entry, at) => ({
      line: locate({ path: [list, at] }).line,
      json: JSON.stringify(withoutNulls(entry)),
    }));
  }
  const isYaml = raw !== undefined;
  const file = { members: withoutNulls(members), lists, notes, isYaml, secrets };
  return { file, locate: (places) => places.map(locate) };
}
