/**
 * A valid `vexel.yaml` as a message between threads. The thread that serves requests unpacks it in steps, and takes the
 * entries over that have not changed.
 */
import type { JsonObject } from "../../storage/sql/config-entity-store.ts";
import { type OriginKind, originKey } from "../snapshot.ts";
import { entrySchemas, fileSchema } from "../validate/schema.ts";
import { asUpstream, type Config } from "../validate/validate-config.ts";
import {
  type FileEntry,
  fileEntryOf,
  listsOfFile,
  type ReadOptions,
  type YamlConfig,
} from "./read-yaml.ts";

/** What the thread needs to read the file. */
export type ReadInThread = Omit<ReadOptions, "inspectFolder">;

export interface PackedYaml {
  readonly ok: true;
  readonly file: string;
  /** The members that are no lists of entries. */
  readonly rest: JsonObject;
  readonly lists: Readonly<Partial<Record<OriginKind, PackedList>>>;
}

interface PackedList {
  readonly lines: readonly number[];
  /** As JSON, before validation. */
  readonly entries: readonly string[];
}

const kinds = Object.keys(listsOfFile) as OriginKind[];
const listNames: ReadonlySet<string> = new Set(Object.values(listsOfFile));

export function packYaml({ file, raw, entries }: YamlConfig): PackedYaml {
  const rest = Object.entries(raw).filter(([name]) => !listNames.has(name));
  const all = [...entries.values()];
  const given = kinds.filter((kind) => raw[listsOfFile[kind]] !== undefined);
  const lists = given.map((kind): [OriginKind, PackedList] => {
    const ofKind = all.filter((entry) => entry.kind === kind);
    return [
      kind,
      {
        lines: ofKind.map(({ line }) => line),
        entries: ofKind.map((entry) => JSON.stringify(entry.raw)),
      },
    ];
  });
  return {
    ok: true,
    file,
    rest: Object.fromEntries(rest),
    lists: Object.fromEntries(lists),
  };
}

/** An entry as the file has it, and as its schema returns it. */
interface KnownEntry {
  readonly raw: JsonObject;
  readonly row: unknown;
}

const [comparedOfStep, parsedOfStep] = [200, 20] as const;

/** In steps. */
export function* unpackYaml(
  { file, rest, lists }: PackedYaml,
  { text, inForce }: { readonly text: string; readonly inForce: YamlConfig },
): Generator<void, YamlConfig> {
  const entries = new Map<string, FileEntry>();
  const raw: Record<string, unknown> = { ...rest };
  const rows: Record<string, unknown[]> = {};
  for (const kind of kinds) {
    const packed = lists[kind];
    if (!packed) continue;
    const { lines, entries: texts } = packed;
    const list = listsOfFile[kind];
    const known = yield* knownEntries(inForce, list);
    const listed = yield* readEntries(list, texts, known);
    for (const [at, entry] of listed.entries()) {
      const found = fileEntryOf(kind, entry.raw, lines[at] ?? 1);
      entries.set(originKey(kind, found.id), found);
    }
    raw[list] = listed.map((entry) => entry.raw);
    rows[list] = listed.map(({ row }) => row);
    yield;
  }
  const { upstreams: _, ...members } = fileSchema.parse(rest);
  const config = { ...members, upstreams: [], ...rows } as Config;
  return { ok: true, file, text, raw, entries, config };
}

type ListName = (typeof listsOfFile)[OriginKind];

/** The entries of the file in force, by their JSON. */
function* knownEntries(
  { raw, config }: YamlConfig,
  list: ListName,
): Generator<void, ReadonlyMap<string, KnownEntry>> {
  const known = new Map<string, KnownEntry>();
  const rows: readonly unknown[] = config[list];
  for (const [at, entry] of ((raw[list] ?? []) as readonly JsonObject[]).entries()) {
    known.set(JSON.stringify(entry), { raw: entry, row: rows[at] });
    if (known.size % comparedOfStep === 0) yield;
  }
  return known;
}

function* readEntries(
  list: ListName,
  texts: readonly string[],
  known: ReadonlyMap<string, KnownEntry>,
): Generator<void, readonly KnownEntry[]> {
  const entries: KnownEntry[] = [];
  let parsed = 0;
  for (const text of texts) {
    const before = known.get(text);
    entries.push(before ?? parseEntry(list, JSON.parse(text) as JsonObject));
    if (!before && ++parsed % parsedOfStep === 0) yield;
  }
  return entries;
}

/** The thread has validated it. */
function parseEntry(list: ListName, raw: JsonObject): KnownEntry {
  if (list === "upstreams") return { raw, row: asUpstream(entrySchemas.upstreams.parse(raw)) };
  return { raw, row: entrySchemas[list].parse(raw) };
}
