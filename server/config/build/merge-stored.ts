/**
 * Adds the stored entities to the configuration of the file. Validates the whole with the code that validates the file.
 * An entity that conflicts with the file or is invalid is left out, so that it never takes the gateway down.
 */
import { type EntityKind, entityKinds, fileEntry, isEntityKind } from "../entities/entity-kinds.ts";
import type { EntityOrigin } from "../snapshot.ts";
import type { LeftOutEntity, StoredConfig } from "../sources/stored-config.ts";
import {
  type Config,
  type ValidationOptions,
  validateConfig,
  withoutNulls,
} from "../validate/validate-config.ts";
import { keyOf, type Note } from "../yaml/problem.ts";
import type { YamlConfig } from "../yaml/read-yaml.ts";

interface MergedConfig {
  readonly config: Config;
  readonly leftOut: readonly LeftOutEntity[];
  /** The origin of an entry, by list and index. */
  originAt(list: string, index: number): EntityOrigin;
}

interface StoredConfigEntry {
  readonly kind: EntityKind;
  readonly id: string;
  readonly value: unknown;
}

export function mergeStored(
  yaml: YamlConfig,
  stored: StoredConfig,
  options: Omit<ValidationOptions, "show">,
): MergedConfig {
  const leftOut = [...stored.leftOut];
  let entries: readonly StoredConfigEntry[] = stored.entities.flatMap(
    ({ kind, id, value }): StoredConfigEntry[] => {
      if (!isEntityKind(kind)) return [];
      const line = lineInFile(yaml, kind, id);
      if (line === undefined)
        return [{ kind, id, value: withoutNulls(fileEntry(kind, id, value), 5) }];
      const reason = `${yaml.file} line ${line} has a ${kind} with this id, which takes precedence`;
      leftOut.push({ kind, id, field: "", reason });
      return [];
    },
  );
  const originAt = (list: string, index: number): EntityOrigin =>
    index < fileList(yaml, list).length
      ? { source: "yaml", location: `${yaml.file} line ${yaml.lineOf([list, index])}` }
      : { source: "store" };

  let { config } = yaml;
  // Leaving out an entity can invalidate entities that refer to it, so the rest is validated again.
  while (entries.length > 0) {
    const validated = validateConfig(combine(yaml, entries), { ...options, show: quote });
    if (validated.notes.length === 0 && validated.config) {
      ({ config } = validated);
      break;
    }
    const invalid = invalidEntries(yaml, entries, validated.notes);
    for (const [{ kind, id }, { field, reason }] of invalid)
      leftOut.push({ kind, id, field, reason });
    entries = entries.filter((entry) => !invalid.has(entry));
  }
  return { config, leftOut, originAt };
}

/** The line of the file that has an entity with this id. */
export function lineInFile(yaml: YamlConfig, kind: EntityKind, id: string): number | undefined {
  const { list, identity } = entityKinds[kind];
  if (identity === undefined) return undefined;
  const index = fileList(yaml, list).findIndex((entry) => entry[identity] === id);
  return index < 0 ? undefined : yaml.lineOf([list, index]);
}

const fileList = ({ raw }: YamlConfig, list: string): readonly Record<string, unknown>[] =>
  (raw as Record<string, Record<string, unknown>[] | undefined>)[list] ?? [];

/** As if the entries were at the end of the lists of the file. */
function combine(yaml: YamlConfig, entries: readonly StoredConfigEntry[]): unknown {
  const raw: Record<string, unknown> = { ...yaml.raw };
  for (const [kind, { list }] of Object.entries(entityKinds)) {
    const added = entries.filter((entry) => entry.kind === kind).map(({ value }) => value);
    if (added.length > 0) raw[list] = [...fileList(yaml, list), ...added];
  }
  return raw;
}

interface EntityProblem {
  readonly field: string;
  readonly reason: string;
}

/** The first problem of each invalid entry. At least one entry, so that the validation comes to an end. */
function invalidEntries(
  yaml: YamlConfig,
  entries: readonly StoredConfigEntry[],
  notes: readonly Note[],
): ReadonlyMap<StoredConfigEntry, EntityProblem> {
  const invalid = new Map<StoredConfigEntry, EntityProblem>();
  for (const { path, message } of notes) {
    const [list, index, ...field] = path;
    const ofList = entries.filter(({ kind }) => entityKinds[kind].list === list);
    const entry =
      typeof index === "number"
        ? ofList[index - fileList(yaml, String(list)).length]
        : // A problem of the list, such as too many entries.
          ofList.at(-1);
    if (!entry || invalid.has(entry)) continue;
    const reason = typeof message === "string" ? message : message();
    invalid.set(entry, { field: keyOf(field), reason });
  }
  const last = entries.at(-1);
  if (invalid.size === 0 && last) {
    const [note] = notes;
    const reason = typeof note?.message === "function" ? note.message() : (note?.message ?? "");
    invalid.set(last, {
      field: "",
      reason: `the configuration is invalid with this entity: ${reason}`,
    });
  }
  return invalid;
}

/** Hides nothing: stored values do not come from the environment, and messages quote only ids. */
const quote = (text: string): string =>
  JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text);
