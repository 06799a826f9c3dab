/** The text of `vexel.yaml` -> the configuration, or all of its problems at once. */

import {
  type Config,
  type ValidationOptions,
  validateConfig,
  withoutNulls,
} from "../validate/validate-config.ts";
import { type Environment, type ParsedYaml, parseYaml } from "./parse-yaml.ts";
import { keyOf, type Note, type Path, type Problem } from "./problem.ts";

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
  /** The values before validation, with variables expanded. */
  readonly raw: Readonly<Record<string, unknown>>;
  /** The line of an entry, from 1. */
  lineOf(path: Path): number;
}

export type ReadConfig = YamlConfig | { readonly ok: false; readonly problems: readonly Problem[] };

const maxProblems = 100;

export function readConfig({ text, file, env, ...options }: ReadOptions): ReadConfig {
  const parsed = parseYaml(text, env);
  if (parsed.raw === undefined) return refuse(parsed.notes, file, parsed);
  const raw = withoutNulls(parsed.raw, 6);
  const { config, notes: all } = validateConfig(raw, { ...options, show: parsed.show });
  // An unset variable leaves an empty value; that it is empty is not reported as a second problem.
  const unset = new Set(parsed.notes.map(({ path }) => keyOf(path)));
  const notes = all.filter(({ path }) => !unset.has(keyOf(path)));
  if (!config || notes.length + parsed.notes.length > 0) {
    return refuse([...parsed.notes, ...notes], file, parsed);
  }
  const lineOf = (path: Path): number => parsed.locate({ path, message: "" }).line;
  return { ok: true, config, file, raw: raw as Record<string, unknown>, lineOf };
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
