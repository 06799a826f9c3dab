/**
 * The problems of references in a file that the schema refuses, so that its author sees every problem in one pass.
 * Unknown keys are left out, and a placeholder that refers to nothing takes the place of each entry with another
 * problem: the indexes in messages stay those of the file.
 */
import type { z } from "zod";
import type { Note } from "../yaml/problem.ts";
import { valueAt } from "./error-messages.ts";
import { type ConfigFile, fileSchema } from "./schema.ts";

type Entry = Readonly<Record<string, unknown>>;

/** For each list with entries: a valid entry that has the name of the broken one, so that references to it are right. */
const placeholders = {
  // The kind that can serve every model.
  upstreams: ({ id }: Entry) => ({ id, kind: "openai", headers: {} }),
  models: ({ id, kind }: Entry) => ({
    id,
    kind: kind === "image" ? kind : "embedding",
    targets: [],
  }),
  keys: ({ name, key }: Entry) => ({ name, key, models: ["*"] }),
  projects: ({ name }: Entry) => ({ name }),
  alerts: ({ name }: Entry) => ({ name }),
  webhooks: ({ url }: Entry) => ({ url }),
} as const;

type ListName = keyof typeof placeholders;
const listNames = Object.keys(placeholders) as readonly ListName[];
const isListName = (name: unknown): name is ListName => listNames.some((list) => list === name);

/** `validate`: the problems of references in a file that the schema accepts. */
export function validateRest(
  raw: unknown,
  issues: readonly z.core.$ZodIssue[],
  validate: (file: ConfigFile) => readonly Note[],
): readonly Note[] {
  const rest = structuredClone(raw);
  const broken = new Set<string>();
  for (const issue of issues) {
    const [list, index] = issue.path;
    if (issue.code === "unrecognized_keys") {
      for (const key of issue.keys) deleteKey(valueAt(rest, pathOf(issue)), key);
    } else if (isListName(list) && typeof index === "number") {
      broken.add(positionOf(list, index));
    } else if (list !== undefined && !isListName(list)) {
      deleteKey(rest, String(list));
    } else {
      // The file is no map, or a list is no list: which entries there are is not known.
      return [];
    }
  }
  const { data } = fileSchema.safeParse(withoutEntries(rest, broken));
  if (!data) return [];
  const isSound = ({ path: [list, index] }: Note): boolean =>
    !broken.has(positionOf(String(list), Number(index)));
  return validate(withPlaceholders(data, rest, broken)).filter(
    (note) => isSound(note) && !refersToBroken(note, rest, broken),
  );
}

const positionOf = (list: string, index: number): string => `${list}[${index}]`;

const pathOf = ({ path }: z.core.$ZodIssue) =>
  path.map((step) => (typeof step === "symbol" ? String(step) : step));

const deleteKey = (value: unknown, key: string): void => {
  if (typeof value === "object" && value !== null) Reflect.deleteProperty(value, key);
};

const entriesOf = (rest: unknown, list: ListName): readonly unknown[] => {
  const entries = valueAt(rest, [list]);
  return Array.isArray(entries) ? entries : [];
};

function withoutEntries(rest: unknown, broken: ReadonlySet<string>): unknown {
  const kept = listNames.map((list) => [
    list,
    entriesOf(rest, list).filter((_, index) => !broken.has(positionOf(list, index))),
  ]);
  return { ...(rest as Entry), ...Object.fromEntries(kept) };
}

function withPlaceholders(
  data: ConfigFile,
  rest: unknown,
  broken: ReadonlySet<string>,
): ConfigFile {
  const filled = listNames.map((list) => {
    const sound = (data[list] as readonly unknown[]).values();
    const entries = entriesOf(rest, list).map((entry, index) => {
      if (!broken.has(positionOf(list, index))) return sound.next().value;
      return placeholders[list](namedEntry(entry, positionOf(list, index)));
    });
    return [list, entries];
  });
  return { ...data, ...Object.fromEntries(filled) } as ConfigFile;
}

/** A name that is missing, or no text, is replaced by one that no other entry has and nothing refers to. */
function namedEntry(entry: unknown, position: string): Entry {
  const unnamed = { id: position, name: position, key: position, url: position };
  if (typeof entry !== "object" || entry === null) return unnamed;
  const named = Object.entries(entry).filter(([, value]) => typeof value === "string");
  return { ...unnamed, ...Object.fromEntries(named) };
}

/** What the other kind of a broken upstream or model could make right is no problem yet. */
function refersToBroken({ path }: Note, rest: unknown, broken: ReadonlySet<string>): boolean {
  const isBroken = (list: ListName, id: unknown): boolean =>
    entriesOf(rest, list).some(
      (entry, index) => broken.has(positionOf(list, index)) && valueAt(entry, ["id"]) === id,
    );
  const [list, index = 0] = path;
  if (path.includes("defaults")) return isBroken("models", valueAt(rest, path));
  if (list !== "models") return false;
  const targets = valueAt(rest, ["models", index, "targets"]);
  const upstreams = [
    ...(Array.isArray(targets) ? targets.map((target) => valueAt(target, ["upstream"])) : []),
    valueAt(rest, ["models", index, "moderation", "upstream"]),
  ];
  return upstreams.some((upstream) => isBroken("upstreams", upstream)) && path.at(-1) !== "id";
}
