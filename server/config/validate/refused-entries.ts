/**
 * Entries of the file that the schema refuses. A repaired entry or a placeholder stands for each, so that references to
 * it and from it are checked as well, and the author of the file sees every problem at once.
 */
import type { z } from "zod";
import { isMap, type ListName } from "../yaml/parse-file.ts";
import { keyOf, type Note, type Path } from "../yaml/problem.ts";
import { valueAt } from "./error-messages.ts";
import { type Config, type ConfigRows, entrySchemas } from "./schema.ts";

type Entry = Readonly<Record<string, unknown>>;

/** The member by which other entries refer to an entry. */
const nameMembers = {
  upstreams: "id",
  models: "id",
  keys: "name",
  projects: "name",
  alerts: "name",
  webhooks: "url",
} as const satisfies Record<ListName, string>;

/** What stands for an entry of which only the name, and the upstreams of a model, are known. */
const placeholders: Readonly<Record<ListName, (entry: Entry, position: string) => Entry>> = {
  // The kind that can serve every model.
  upstreams: () => ({ kind: "openai", headers: {} }),
  models: ({ kind, targets }) => ({
    kind: kind === "image" ? kind : "embedding",
    targets: (Array.isArray(targets) ? targets : []).map((target) => ({
      upstream: valueAt(target, ["upstream"]),
      model: "",
    })),
  }),
  keys: ({ key }, position) => ({ key: typeof key === "string" ? key : position, models: ["*"] }),
  projects: () => ({}),
  alerts: () => ({}),
  webhooks: () => ({}),
};

/** Valid members in place of those that the schema refuses or misses. */
const fillers: Partial<Record<ListName, Entry>> = {
  upstreams: { id: "id" },
  models: { id: "id" },
  keys: { name: "name", key: "a-key-of-the-file" },
};

/** The entries that the schema refuses. */
export class RefusedEntries {
  /** The paths that the schema refuses, by the position of their entry, such as `models[0]`. */
  readonly #paths = new Map<string, readonly Path[]>();
  /** The positions and the names of entries that placeholders stand for. */
  readonly #unknown = { positions: new Set<string>(), upstreams: new Set(), models: new Set() };

  /** Returns what stands for the entry in `raw`. */
  repair<List extends ListName>(
    [list, at]: readonly [List, number],
    raw: unknown,
    issues: readonly z.core.$ZodIssue[],
  ): ConfigRows[List] {
    const position = keyOf([list, at]);
    const given = valueAt(raw, [nameMembers[list]]);
    // No other entry has the position as its name, and nothing refers to it.
    const name = typeof given === "string" ? given : position;
    const values = issues.filter(({ code }) => code !== "unrecognized_keys");
    this.#paths.set(
      position,
      values.map((issue) => [list, at, ...pathOf(issue)]),
    );
    const entry = withoutRefused(raw, issues);
    const filler = fillers[list] ?? (values.length === 0 ? {} : undefined);
    const { data } =
      filler && isMap(entry) ? entrySchemas[list].safeParse({ ...filler, ...entry }) : {};
    if (!data) {
      this.#unknown.positions.add(position);
      if (list === "upstreams") this.#unknown.upstreams.add(name);
      if (list === "models") this.#unknown.models.add(name);
    }
    const repaired = data ?? placeholders[list](isMap(entry) ? entry : {}, position);
    return { ...repaired, [nameMembers[list]]: name } as ConfigRows[List];
  }

  /** Whether a problem of references is certain, although entries are repaired, and was not found by the schema. */
  isCertain({ path }: Note, config: Config, upstreamIds: ReadonlySet<string>): boolean {
    const position = keyOf(path.slice(0, 2));
    const refused = this.#paths.get(position) ?? [];
    if (refused.some((other) => startsWith(path, other) || startsWith(other, path))) return false;
    const { positions, upstreams, models } = this.#unknown;
    if (path.includes("defaults")) return !models.has(valueAt(config, path));
    const isKnown = !positions.has(position);
    if (path[0] !== "models" || path[2] === "id") return isKnown;
    const model = config.models[Number(path[1])];
    const named = (model?.targets ?? []).map(({ upstream }) => upstream);
    const moderation = valueAt(model, ["moderation", "upstream"]);
    if (isKnown && ![...named, moderation].some((id) => upstreams.has(id))) return true;
    // Of an entry of which too little is known, only an upstream that does not exist is a certain problem.
    return path.at(-1) === "upstream" && !upstreamIds.has(String(valueAt(config, path)));
  }
}

const startsWith = (path: Path, start: Path): boolean =>
  start.every((step, at) => path[at] === step);

/** Without the keys that the schema does not know, and without the values that it refuses. Indexes stay. */
export function withoutRefused(raw: unknown, issues: readonly z.core.$ZodIssue[]): unknown {
  const rest = structuredClone(raw);
  for (const issue of issues) {
    const path = pathOf(issue);
    if (issue.code !== "unrecognized_keys") deleteKey(rest, path);
    else for (const key of issue.keys) deleteKey(rest, [...path, key]);
  }
  return rest;
}

const pathOf = ({ path }: z.core.$ZodIssue): Path =>
  path.map((step) => (typeof step === "symbol" ? String(step) : step));

function deleteKey(raw: unknown, path: Path): void {
  const parent = valueAt(raw, path.slice(0, -1));
  if (isMap(parent)) Reflect.deleteProperty(parent, String(path.at(-1)));
}
