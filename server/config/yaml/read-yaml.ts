/** The text of `vexel.yaml` -> the configuration, or all of its problems at once. */

import type { JsonObject } from "../../storage/sql/config-entity-store.ts";
import { entityKinds } from "../entities/entity-kinds.ts";
import { type OriginKind, originKey } from "../snapshot.ts";
import {
  type Config,
  type ValidationOptions,
  validateConfig,
} from "../validate/validate-config.ts";
import { webhookId } from "../validate/webhooks.ts";
import { fileDepth, listsOfFile, withoutNulls } from "./file-lists.ts";
import { type Environment, type ParsedYaml, parseYaml } from "./parse-yaml.ts";
import { keyOf, type Note, type Problem } from "./problem.ts";

export interface ReadOptions extends Omit<ValidationOptions, "show"> {
  readonly text: string;
  /** The file name in problems. */
  readonly file: string;
  readonly env: Environment;
}

/** A valid file. */
export interface YamlConfig {
  readonly ok: true;
  readonly config: Config;
  /** The file name in messages. */
  readonly file: string;
  /** Empty: the file is empty or absent. */
  readonly text: string;
  /** The values before validation, with variables expanded. */
  readonly raw: Readonly<Record<string, unknown>>;
  /** The entries of all lists, by kind and id (`originKey`). */
  readonly entries: ReadonlyMap<string, FileEntry>;
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

/** The entry at an index of a list. */
export function fileEntryOf(kind: OriginKind, raw: JsonObject, line: number): FileEntry {
  if (kind === "key") return { kind, id: `file:${raw.name}`, line, raw };
  const { identity } = entityKinds[kind];
  const id = identity === undefined ? webhookId(String(raw.url)) : String(raw[identity]);
  return { kind, id, line, raw };
}

export type ReadConfig = YamlConfig | { readonly ok: false; readonly problems: readonly Problem[] };

const maxProblems = 100;

export function readConfig({ text, file, env, ...options }: ReadOptions): ReadConfig {
  const parsed = parseYaml(text, env);
  if (parsed.raw === undefined) return refuse(parsed.notes, file, parsed);
  const raw = withoutNulls(parsed.raw, fileDepth);
  const { config, notes: all } = validateConfig(raw, { ...options, show: parsed.show });
  // An unset variable leaves an empty value; that it is empty is not reported as a second problem.
  const unset = new Set(parsed.notes.map(({ path }) => keyOf(path)));
  const notes = all.filter(({ path }) => !unset.has(keyOf(path)));
  if (!config || notes.length + parsed.notes.length > 0) {
    return refuse([...parsed.notes, ...notes], file, parsed);
  }
  const members = raw as Readonly<Record<string, unknown>>;
  const entries = new Map<string, FileEntry>();
  for (const kind of Object.keys(listsOfFile) as OriginKind[]) {
    const list = listsOfFile[kind];
    for (const [at, entry] of ((members[list] ?? []) as readonly JsonObject[]).entries()) {
      const { line } = parsed.locate({ path: [list, at], message: "" });
      const found = fileEntryOf(kind, entry, line);
      entries.set(originKey(kind, found.id), found);
    }
  }
  return { ok: true, config, file, text, raw: members, entries };
}

function refuse(notes: readonly Note[], file: string, parsed: ParsedYaml): ReadConfig {
  const problems: Problem[] = notes.slice(0, maxProblems).map((note) => ({
    file,
    ...parsed.locate(note),
    key: keyOf(note.path),
    message: typeof note.message === "string" ? note.message : note.message(),
  }));
  problems.sort((a, b) => a.line - b.line || a.column - b.column);
  const left = notes.length - problems.length;
  if (left > 0)
    problems.push({ file, line: 0, column: 0, key: "", message: `and ${left} more problems` });
  return { ok: false, problems };
}
