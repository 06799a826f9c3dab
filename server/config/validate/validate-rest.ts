/**
 * The problems of references in a file that the schema refuses, so that its author sees every problem in one pass.
 * What the schema refuses is left out of its entry. An entry that is still not valid is replaced by a placeholder with
 * its name, which keeps references to it right. The indexes in messages stay those of the file.
 */
import type { z } from "zod";
import type { Note, Path } from "../yaml/problem.ts";
import { valueAt } from "./error-messages.ts";
import { type ConfigFile, fileSchema } from "./schema.ts";

type Entry = Readonly<Record<string, unknown>>;

/** The member by which other entries refer to an entry. */
const nameMembers = {
  upstreams: "id",
  models: "id",
  keys: "name",
  projects: "name",
  alerts: "name",
  webhooks: "url",
} as const;

type ListName = keyof typeof nameMembers;
const listNames = Object.keys(nameMembers) as readonly ListName[];
const isListName = (name: unknown): name is ListName => listNames.some((list) => list === name);

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

interface Options {
  /** The problems of references in a file that the schema accepts. */
  readonly validate: (file: ConfigFile) => readonly Note[];
  /** The upstreams that are not in the file. */
  readonly availableIds: readonly string[];
}

export function validateRest(
  raw: unknown,
  issues: readonly z.core.$ZodIssue[],
  { validate, availableIds }: Options,
): readonly Note[] {
  const rest = structuredClone(raw);
  const refused: Path[] = [];
  for (const issue of issues) {
    const path = pathOf(issue);
    const [list, index] = path;
    if (issue.code === "unrecognized_keys") {
      for (const key of issue.keys) deleteKey(valueAt(rest, path), key);
    } else if (isListName(list) && typeof index === "number") {
      refused.push(path);
    } else if (list !== undefined && !isListName(list)) {
      deleteKey(rest, String(list));
    } else {
      // The file is no map, or a list is no list: which entries there are is not known.
      return [];
    }
  }
  const refusedEntries = new Set(refused.map(entryOf));
  const { data } = fileSchema.safeParse(withoutEntries(rest, refusedEntries));
  if (!data) return [];
  for (const path of refused) deleteKey(valueAt(rest, path.slice(0, -1)), String(path.at(-1)));
  const { file, unknownEntries } = complete(data, raw, rest, refusedEntries);
  const upstreamIds = new Set([...availableIds, ...file.upstreams.map(({ id }) => id)]);

  /** Of an entry of which too little is known, only an upstream that does not exist is a certain problem. */
  const isCertain = ({ path }: Note): boolean => {
    const isUnknown = (list: ListName, id: unknown): boolean =>
      file[list].some(
        (entry, index) =>
          unknownEntries.has(entryOf([list, index])) && valueAt(entry, [nameMembers[list]]) === id,
      );
    if (path.includes("defaults")) return !isUnknown("models", valueAt(raw, path));
    if (path[0] !== "models" || path[2] === "id") return !unknownEntries.has(entryOf(path));
    const model = file.models[Number(path[1])];
    const upstreams = [
      ...(model?.targets ?? []).map(({ upstream }) => upstream),
      valueAt(model, ["moderation", "upstream"]),
    ];
    return (
      (!unknownEntries.has(entryOf(path)) &&
        !upstreams.some((upstream) => isUnknown("upstreams", upstream))) ||
      (path.at(-1) === "upstream" && !upstreamIds.has(String(valueAt(file, path))))
    );
  };
  /** The schema has already found a problem there. */
  const isReported = ({ path }: Note): boolean =>
    refused.some((other) => startsWith(path, other) || startsWith(other, path));
  return validate(file).filter((note) => !isReported(note) && isCertain(note));
}

/** Such as `models[0]`. */
const entryOf = ([list, index]: Path): string => `${list}[${index}]`;

const startsWith = (path: Path, start: Path): boolean =>
  start.every((step, at) => path[at] === step);

const pathOf = ({ path }: z.core.$ZodIssue): Path =>
  path.map((step) => (typeof step === "symbol" ? String(step) : step));

/** The indexes of a list stay as they are. */
const deleteKey = (value: unknown, key: string): void => {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    Reflect.deleteProperty(value, key);
};

const entriesOf = (file: unknown, list: ListName): readonly unknown[] => {
  const entries = valueAt(file, [list]);
  return Array.isArray(entries) ? entries : [];
};

function withoutEntries(file: unknown, left: ReadonlySet<string>): unknown {
  const kept = listNames.map((list) => [
    list,
    entriesOf(file, list).filter((_, index) => !left.has(entryOf([list, index]))),
  ]);
  return { ...(file as Entry), ...Object.fromEntries(kept) };
}

/** The valid entries of `data`, and in their places the others, repaired or as placeholders. */
function complete(
  data: ConfigFile,
  raw: unknown,
  rest: unknown,
  refusedEntries: ReadonlySet<string>,
): { readonly file: ConfigFile; readonly unknownEntries: ReadonlySet<string> } {
  const unknownEntries = new Set<string>();
  const lists = listNames.map((list) => {
    const valid = (data[list] as readonly unknown[]).values();
    const entries = entriesOf(rest, list).map((entry, index) => {
      if (!refusedEntries.has(entryOf([list, index]))) return valid.next().value;
      const position = entryOf([list, index]);
      const name = valueAt(raw, [list, index, nameMembers[list]]);
      // No other entry has the position as its name, and nothing refers to it.
      const named = { [nameMembers[list]]: typeof name === "string" ? name : position };
      const repaired = repair(list, entry);
      if (repaired) return { ...repaired, ...named };
      unknownEntries.add(position);
      return { ...placeholders[list](isMap(entry) ? entry : {}, position), ...named };
    });
    return [list, entries];
  });
  return { file: { ...data, ...Object.fromEntries(lists) } as ConfigFile, unknownEntries };
}

/** Undefined if the entry is not valid without what the schema refuses. */
function repair(list: ListName, entry: unknown): Entry | undefined {
  const filler = fillers[list];
  if (!filler || !isMap(entry)) return undefined;
  const { data } = fileSchema.safeParse({ [list]: [{ ...filler, ...entry }] });
  return data?.[list][0];
}

const isMap = (value: unknown): value is Entry =>
  typeof value === "object" && value !== null && !Array.isArray(value);
