/** The text of `vexel.yaml` -> the configuration, or all of its problems at once. */
import type { Upstream } from "../upstream/contract.ts";
import { kinds } from "../upstream/kinds.ts";
import { checkDefaults } from "./check-defaults.ts";
import { explainIssue, valueAt } from "./error-messages.ts";
import { limitsOf } from "./limits.ts";
import { type Environment, type ParsedYaml, parseYaml } from "./parse-yaml.ts";
import { keyOf, type Note, type Problem } from "./problem.ts";
import type { ProvisionedUpstream } from "./provision.ts";
import { type ConfigFile, fileSchema } from "./schema.ts";
import { type InspectFolder, validateReferences } from "./validate-references.ts";

export interface Config extends Omit<ConfigFile, "upstreams"> {
  readonly upstreams: readonly Upstream[];
}

export interface ReadOptions {
  readonly text: string;
  /** The file name in problems. */
  readonly file: string;
  readonly env: Environment;
  /** Upstreams and models provisioned without the file, unless the file sets the key of that name to false. */
  readonly provisioned?: Readonly<
    Record<"environment" | "embedded", readonly ProvisionedUpstream[]>
  >;
  /** Checks the folders of local models, so that a problem shows before the first request. */
  readonly inspectFolder?: InspectFolder;
}

export type ReadConfig =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly Problem[] };

const maxProblems = 100;

export function readConfig({
  text,
  file,
  env,
  provisioned,
  inspectFolder = () => [],
}: ReadOptions): ReadConfig {
  const parsed = parseYaml(text, env);
  if (parsed.raw === undefined) return refuse(parsed.notes, file, parsed);
  const raw = withoutNulls(parsed.raw, 6);
  const shaped = fileSchema.safeParse(raw);
  const available = (["environment", "embedded"] as const).flatMap((source) =>
    valueAt(raw, [source]) === false ? [] : (provisioned?.[source] ?? []),
  );
  const upstreams = available.map(({ upstream }) => upstream);
  const unset = new Set(parsed.notes.map(({ path }) => keyOf(path)));
  const notes = [
    ...(shaped.error?.issues.flatMap((issue) => explainIssue(issue, raw, parsed.show)) ?? []),
    ...validateReferences(raw, upstreams, parsed.show, inspectFolder),
    ...checkDefaults(raw, available, parsed.show),
    // An unset variable leaves an empty value; that it is empty is not reported as a second problem.
  ].filter(({ path }) => !unset.has(keyOf(path)));
  if (!shaped.success || notes.length + parsed.notes.length > 0)
    return refuse([...parsed.notes, ...notes], file, parsed);
  return {
    ok: true,
    config: { ...shaped.data, upstreams: shaped.data.upstreams.map(asUpstream) },
  };
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

/** A key without a value counts as absent. `depth`: the schema is not nested any deeper. */
function withoutNulls(value: unknown, depth: number): unknown {
  if (depth === 0 || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((entry) => withoutNulls(entry, depth - 1));
  const kept = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutNulls(member, depth - 1)]));
}

function asUpstream(row: ConfigFile["upstreams"][number]): Upstream {
  const { id, kind, baseUrl = kinds.get(kind)?.baseUrl, apiKey, headers, limits, ...options } = row;
  return {
    id,
    kind,
    ...(baseUrl !== undefined && { baseUrl }),
    ...(apiKey !== undefined && { apiKey }),
    headers,
    ...limitsOf(limits),
    options,
  };
}
