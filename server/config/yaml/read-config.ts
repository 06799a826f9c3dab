/** `vexel.yaml` parsed -> the configuration, or all of its problems at once. */
import type { JsonObject } from "../../storage/sql/config-entity-store.ts";
import { entityKinds } from "../entities/entity-kinds.ts";
import { type OriginKind, originKey } from "../snapshot.ts";
import type { Config } from "../validate/schema.ts";
import {
  type ReadEntries,
  type ValidationOptions,
  validateConfig,
} from "../validate/validate-config.ts";
import { webhookId } from "../validate/webhooks.ts";
import { listsOfFile, type ParsedFile } from "./parse-file.ts";
import type { LinePosition } from "./parse-yaml.ts";
import { aboutFile, keyOf, type Note, type Place, type Problem, textOf } from "./problem.ts";

export interface ReadOptions extends ValidationOptions {
  readonly text: string;
  /** The file name in messages. */
  readonly file: string;
}

/** A valid file. */
export interface YamlConfig {
  readonly ok: true;
  readonly config: Config;
  /** The file name in messages. */
  readonly file: string;
  readonly text: string;
  /** It has no values. */
  readonly isEmpty: boolean;
  /** The entries of all lists, by kind and id (`originKey`). */
  readonly entries: ReadonlyMap<string, FileEntry>;
  readonly readEntries: ReadEntries;
}

export interface FileEntry {
  readonly kind: OriginKind;
  /** Of a webhook: derived from its URL. Of a key: `file:` and its name. */
  readonly id: string;
  /** From 1. */
  readonly line: number;
  /** Before validation. */
  readonly raw: JsonObject;
}

/** An invalid file. The lines of its problems are not known yet. */
interface RefusedConfig {
  readonly ok: false;
  readonly notes: readonly (Place & { readonly message: string })[];
  /** How many problems it has besides. */
  readonly left: number;
}

const maxProblems = 100;

/** In steps. */
export function* readConfig(
  parsed: ParsedFile,
  { text, file, ...options }: ReadOptions,
): Generator<void, YamlConfig | RefusedConfig> {
  if (!parsed.isYaml) return yield* refuse(parsed.notes);
  const { config, entries: readEntries, notes: all } = yield* validateConfig(parsed, options);
  // An unset variable leaves an empty value; that it is empty is not reported as a second problem.
  const unset = new Set(parsed.notes.map(({ path }) => keyOf(path)));
  const notes = all.filter(({ path }) => !unset.has(keyOf(path)));
  if (notes.length + parsed.notes.length > 0) return yield* refuse([...parsed.notes, ...notes]);
  const entries = new Map<string, FileEntry>();
  for (const kind of Object.keys(listsOfFile) as OriginKind[]) {
    const list = listsOfFile[kind];
    for (const { line, json } of parsed.lists[list] ?? []) {
      const raw = readEntries[list]?.get(json)?.raw ?? {};
      const id = idOf(kind, raw);
      entries.set(originKey(kind, id), { kind, id, line, raw });
    }
    yield;
  }
  const { members, lists } = parsed;
  const isEmpty = Object.keys({ ...(members as object), ...lists }).length === 0;
  return { ok: true, config, file, text, isEmpty, entries, readEntries };
}

function idOf(kind: OriginKind, raw: JsonObject): string {
  if (kind === "key") return `file:${raw.name}`;
  const { identity } = entityKinds[kind];
  return identity === undefined ? webhookId(String(raw.url)) : String(raw[identity]);
}

function* refuse(notes: readonly Note[]): Generator<void, RefusedConfig> {
  const shown = [];
  for (const note of notes.slice(0, maxProblems)) {
    const { message, ...place } = note;
    shown.push({ ...place, message: textOf(note) });
    yield;
  }
  return { ok: false, notes: shown, left: notes.length - shown.length };
}

/** `positions`: of the notes. */
export function problemsOf(
  file: string,
  { notes, left }: RefusedConfig,
  positions: readonly LinePosition[],
): readonly Problem[] {
  const problems = notes.map(({ path, message }, at): Problem => {
    const { line = 0, column = 0 } = positions[at] ?? {};
    return { file, line, column, key: keyOf(path), message };
  });
  problems.sort((a, b) => a.line - b.line || a.column - b.column);
  return left === 0 ? problems : [...problems, aboutFile(file, `and ${left} more problems`)];
}
