/**
 * Validates a parsed `vexel.yaml`, and takes the entries over that have not changed since they were validated. Validates
 * one entity of the store as if it were an entry of the file.
 */
import type { z } from "zod";
import { maxAllTargets } from "../../../contract/admin/list-bounds.ts";
import type { JsonObject } from "../../storage/sql/config-entity-store.ts";
import { availableUpstreams, type ProvisionedUpstream } from "../sources/provisioned-upstreams.ts";
import {
  isListName,
  isMap,
  type ListEntry,
  type ListName,
  listNames,
  type ParsedFile,
} from "../yaml/parse-file.ts";
import type { Note } from "../yaml/problem.ts";
import { explainIssue, type Show, showUnless } from "./error-messages.ts";
import { RefusedEntries, withoutRefused } from "./refused-entries.ts";
import {
  type Config,
  type ConfigRows,
  entrySchemas,
  membersSchema,
  tooManyTargets,
} from "./schema.ts";
import { type InspectFolder, validateReferences } from "./validate-references.ts";

/** An entry as the file has it, and as its schema returns it. */
export interface ReadEntry {
  readonly raw: JsonObject;
  readonly row: ConfigRows[ListName];
}

/** By their JSON. */
export type ReadEntries = Readonly<Partial<Record<ListName, ReadonlyMap<string, ReadEntry>>>>;

export interface ValidationOptions {
  /** Upstreams that environment variables provision, with their models. */
  readonly provisioned?: readonly ProvisionedUpstream[];
  /** Checks the folders of local models, so that a problem shows before the first request. */
  readonly inspectFolder?: InspectFolder | undefined;
  /** The entries of the file that is in force. */
  readonly inForce?: ReadEntries;
}

interface ValidatedConfig {
  /** Meaningless if there are notes. */
  readonly config: Config;
  readonly entries: ReadEntries;
  readonly notes: readonly Note[];
}

/** Finds all problems of the file. In steps. */
export function* validateConfig(
  parsed: ParsedFile,
  { provisioned = [], inspectFolder = () => [], inForce = {} }: ValidationOptions,
): Generator<void, ValidatedConfig> {
  const show = showUnless(parsed.secrets);
  const { members, notes, lists } = validateMembers(parsed, show);
  const refused = new RefusedEntries();
  const entries: Partial<Record<ListName, ReadonlyMap<string, ReadEntry>>> = {};
  const rows: Partial<Record<ListName, readonly unknown[]>> = {};
  for (const list of lists) {
    const options = { show, refused, inForce: inForce[list] };
    const read = yield* validateList(list, parsed.lists[list] ?? [], options);
    entries[list] = read.entries;
    rows[list] = read.rows;
    notes.push(...read.notes);
  }
  const config = { ...members, ...rows } as Config;
  if (config.models.reduce((sum, { targets }) => sum + targets.length, 0) > maxAllTargets)
    notes.push({ path: ["models"], message: tooManyTargets });
  // It is not known which entries there are.
  if (lists.length === 0) return { config, entries, notes };
  const available = availableUpstreams(config, provisioned);
  const upstreams = [...available.map(({ upstream }) => upstream), ...config.upstreams];
  const upstreamIds = new Set(upstreams.map(({ id }) => id));
  const found = yield* validateReferences(config, available, show, inspectFolder);
  notes.push(...found.filter((note) => refused.isCertain(note, config, upstreamIds)));
  return { config, entries, notes };
}

/** To compare an entry with the one in force costs less than to validate it. */
const [comparedOfStep, validatedOfStep] = [200, 20] as const;

/** `rows`: with what stands for refused entries. */
function* validateList(
  list: ListName,
  listed: readonly ListEntry[],
  options: {
    readonly show: Show;
    readonly refused: RefusedEntries;
    readonly inForce: ReadonlyMap<string, ReadEntry> | undefined;
  },
) {
  const { show, refused, inForce } = options;
  const entries = new Map<string, ReadEntry>();
  const rows: unknown[] = [];
  const notes: Note[] = [];
  let validated = 0;
  for (const [at, { json }] of listed.entries()) {
    if (at % comparedOfStep === 0) yield;
    let entry = inForce?.get(json);
    if (!entry) {
      if (++validated % validatedOfStep === 0) yield;
      const raw = JSON.parse(json) as JsonObject;
      const read = validateEntry(list, raw, { show, at });
      if ("row" in read) entry = { raw, row: read.row };
      else {
        notes.push(...read.notes);
        rows.push(refused.repair([list, at], raw, read.issues));
        continue;
      }
    }
    entries.set(json, entry);
    rows.push(entry.row);
  }
  return { entries, rows, notes };
}

/** Validates everything but the entries of lists. `lists`: none if one of them is no list, or has too many entries. */
function validateMembers({ members, lists }: ParsedFile, show: Show) {
  const raw = isMap(members) ? { ...members, ...lists } : members;
  const { data, error } = membersSchema.safeParse(raw);
  if (data) return { members: data, notes: [] as Note[], lists: listNames };
  const notes = error.issues.flatMap((issue) => explainIssue(issue, raw, show));
  const isMemberRefused = ({ code, path: [name] }: z.core.$ZodIssue): boolean =>
    code === "unrecognized_keys" || (name !== undefined && !isListName(name));
  if (!error.issues.every(isMemberRefused))
    return { members: membersSchema.parse({}), notes, lists: [] };
  const rest = withoutRefused(members, error.issues);
  return { members: membersSchema.parse(rest), notes, lists: listNames };
}

type ValidatedEntry<List extends ListName> =
  | { readonly row: ConfigRows[List] }
  | { readonly issues: readonly z.core.$ZodIssue[]; readonly notes: readonly Note[] };

/** Validates what depends neither on other entries nor on folders. */
export function validateEntry<List extends ListName>(
  list: List,
  raw: unknown,
  { show, at }: { show: Show; at: number },
): ValidatedEntry<List> {
  const { data, error } = entrySchemas[list].safeParse(raw);
  if (!error) return { row: data as ConfigRows[List] };
  const file = { [list]: { [at]: raw } };
  const notes = error.issues.flatMap((issue) =>
    explainIssue({ ...issue, path: [list, at, ...issue.path] }, file, show),
  );
  return { issues: error.issues, notes };
}
