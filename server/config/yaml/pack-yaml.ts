/** Parses `vexel.yaml` for another thread: see `unpack-yaml.ts`. Loads no schemas, so that the thread starts fast. */
import type { JsonObject } from "../../storage/sql/config-entity-store.ts";
import type { OriginKind } from "../snapshot.ts";
import type { ProvisionedUpstream } from "../sources/provisioned-upstreams.ts";
import { fileDepth, listsOfFile, withoutNulls } from "./file-lists.ts";
import { type Environment, parseYaml } from "./parse-yaml.ts";

/** What the thread needs to parse a file. */
export interface FileInThread {
  readonly text: string;
  readonly env: Environment;
}

/** What it needs besides to collect the problems of the file. */
export interface ProblemOptions {
  readonly file: string;
  readonly provisioned: readonly ProvisionedUpstream[];
}

export interface PackedYaml {
  /** The members that are no lists of entries. */
  readonly rest: JsonObject;
  readonly lists: Readonly<Partial<Record<OriginKind, PackedList>>>;
}

interface PackedList {
  readonly lines: readonly number[];
  /** As JSON, before validation. */
  readonly entries: readonly string[];
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Undefined if the file is invalid. */
export function packYaml(text: string, env: Environment): PackedYaml | undefined {
  const parsed = parseYaml(text, env);
  if (parsed.raw === undefined || parsed.notes.length > 0) return undefined;
  const raw = withoutNulls(parsed.raw, fileDepth);
  if (!isMap(raw)) return undefined;
  const rest = { ...raw };
  const lists: Partial<Record<OriginKind, PackedList>> = {};
  for (const kind of Object.keys(listsOfFile) as OriginKind[]) {
    const list = listsOfFile[kind];
    const entries = raw[list];
    if (entries === undefined) continue;
    if (!Array.isArray(entries)) return undefined;
    Reflect.deleteProperty(rest, list);
    lists[kind] = {
      lines: entries.map((_, at) => parsed.locate({ path: [list, at], message: "" }).line),
      entries: entries.map((entry) => JSON.stringify(entry)),
    };
  }
  return { rest, lists };
}
