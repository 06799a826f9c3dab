/**
 * A parsed `vexel.yaml` as a message between threads. The thread that serves requests unpacks it in steps, takes the
 * entries over that have not changed, and validates the others.
 */
import { maxAllTargets } from "../../../contract/admin/list-bounds.ts";
import type { JsonObject } from "../../storage/sql/config-entity-store.ts";
import { type OriginKind, originKey } from "../snapshot.ts";
import { builtInUpstreams } from "../sources/provisioned-upstreams.ts";
import { type ConfigFile, entrySchemas, fileSchema, maxEntries } from "../validate/schema.ts";
import { asUpstream, type Config, type ValidationOptions } from "../validate/validate-config.ts";
import { referenceProblems } from "../validate/validate-references.ts";
import { type ListName, listsOfFile } from "./file-lists.ts";
import type { PackedYaml } from "./pack-yaml.ts";
import { type FileEntry, fileEntryOf, type YamlConfig } from "./read-yaml.ts";

/** An entry as the file has it, as its schema returns it, and as the configuration has it. */
interface ReadEntry {
  readonly raw: JsonObject;
  readonly row: unknown;
}

interface UnpackOptions extends Pick<ValidationOptions, "provisioned" | "inspectFolder"> {
  readonly file: string;
  readonly text: string;
  readonly inForce: YamlConfig;
}

const kinds = Object.keys(listsOfFile) as OriginKind[];
const [comparedOfStep, parsedOfStep] = [200, 20] as const;

/** Undefined if the file is invalid. In steps. */
export function* unpackYaml(
  { rest, lists }: PackedYaml,
  options: UnpackOptions,
): Generator<void, YamlConfig | undefined> {
  const { file, text, inForce } = options;
  const { data } = fileSchema.safeParse(rest);
  if (!data) return undefined;
  const entries = new Map<string, FileEntry>();
  const raw: Record<string, unknown> = { ...rest };
  const rows: Record<string, unknown[]> = {};
  for (const kind of kinds) {
    const packed = lists[kind];
    if (!packed) continue;
    const list = listsOfFile[kind];
    const known = yield* knownEntries(inForce, list);
    const listed = yield* readEntries(list, packed.entries, known);
    if (!listed) return undefined;
    for (const [at, entry] of listed.entries()) {
      const found = fileEntryOf(kind, entry.raw, packed.lines[at] ?? 1);
      entries.set(originKey(kind, found.id), found);
    }
    raw[list] = listed.map((entry) => entry.raw);
    rows[list] = listed.map(({ row }) => row);
    yield;
  }
  const config = { ...data, ...rows } as unknown as Config;
  if (!isWithinBounds(config)) return undefined;
  const isValid = yield* hasValidReferences(config, raw, options);
  return isValid ? { ok: true, file, text, raw, entries, config } : undefined;
}

/** The entries of the file in force, by their JSON. */
function* knownEntries(
  { raw, config }: YamlConfig,
  list: ListName,
): Generator<void, ReadonlyMap<string, ReadEntry>> {
  const known = new Map<string, ReadEntry>();
  const rows: readonly unknown[] = config[list];
  for (const [at, entry] of ((raw[list] ?? []) as readonly JsonObject[]).entries()) {
    known.set(JSON.stringify(entry), { raw: entry, row: rows[at] });
    if (known.size % comparedOfStep === 0) yield;
  }
  return known;
}

/** Undefined if the schema refuses one of them. */
function* readEntries(
  list: ListName,
  texts: readonly string[],
  known: ReadonlyMap<string, ReadEntry>,
): Generator<void, readonly ReadEntry[] | undefined> {
  const entries: ReadEntry[] = [];
  let parsed = 0;
  for (const text of texts) {
    const entry = known.get(text) ?? parseEntry(list, JSON.parse(text) as JsonObject);
    if (!entry) return undefined;
    entries.push(entry);
    if (!known.has(text) && ++parsed % parsedOfStep === 0) yield;
  }
  return entries;
}

function parseEntry(list: ListName, raw: JsonObject): ReadEntry | undefined {
  const { data } = entrySchemas[list].safeParse(raw);
  if (!data) return undefined;
  const isUpstream = list === "upstreams";
  return { raw, row: isUpstream ? asUpstream(data as ConfigFile["upstreams"][number]) : data };
}

const isWithinBounds = (config: Config): boolean =>
  Object.entries(maxEntries).every(
    ([list, max]) => config[list as keyof typeof maxEntries].length <= max,
  ) && config.models.reduce((sum, { targets }) => sum + targets.length, 0) <= maxAllTargets;

/** As the file has them: references are those of the schema's output. */
function* hasValidReferences(
  config: Config,
  raw: Readonly<Record<string, unknown>>,
  { provisioned = [], inspectFolder = () => [] }: UnpackOptions,
): Generator<void, boolean> {
  const available = [
    ...(config.environment ? provisioned : []),
    ...(config.builtInModels ? builtInUpstreams : []),
  ];
  const upstreams = (raw.upstreams ?? []) as unknown as ConfigFile["upstreams"];
  const file: ConfigFile = { ...config, upstreams };
  const notes = yield* referenceProblems(file, available, JSON.stringify, inspectFolder);
  return notes.length === 0;
}
