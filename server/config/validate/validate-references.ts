/**
 * Validates what the schema of one entry cannot: references between entries, and from them to provisioned upstreams and
 * models. `upstreamProblems` and `modelProblems` validate one entry, of the file or of the store.
 */
import { modelKinds } from "../../../contract/model-kinds.ts";
import { didYouMean } from "../../lib/edit-distance.ts";
import { matchesGlob } from "../../lib/glob.ts";
import { adapters } from "../../upstream/adapters/index.ts";
import { vectorSpaceOf } from "../../upstream/catalog/index.ts";
import { isMetadataHost } from "../../upstream/download/index.ts";
import { kinds } from "../../upstream/kinds.ts";
import { providers, variablesOf } from "../sources/providers.ts";
import type { ProvisionedUpstream } from "../sources/provisioned-upstreams.ts";
import type { Note, Path } from "../yaml/problem.ts";
import type { Show } from "./error-messages.ts";
import type { Config } from "./schema.ts";

/** Returns the problems of a local model's folder. */
export type InspectFolder = (path: string) => readonly string[];

const modelsOfStep = 200;

/** In steps. */
export function* validateReferences(
  file: Config,
  provisioned: readonly ProvisionedUpstream[],
  show: Show,
  inspect: InspectFolder,
): Generator<void, Note[]> {
  const kindOf = new Map(provisioned.map(({ upstream: { id, kind } }) => [id, kind]));
  for (const { id, kind } of file.upstreams) kindOf.set(id, kind);
  const { upstreams, models, keys, projects, webhooks, alerts } = file;
  const notes = [
    ...duplicates("upstreams", "id", upstreams, show),
    ...duplicates("models", "id", models, show),
    ...duplicates("keys", "name", keys, show),
    ...duplicates("projects", "name", projects, show),
    ...unknownProjects(file, show),
    ...duplicates("keys", "key", keys, () => "it"),
    ...duplicates("webhooks", "url", webhooks, () => "it"),
    ...duplicates("webhooks", "name", webhooks, show),
    ...duplicates("alerts", "name", alerts, show),
    ...upstreams.flatMap((row, at) =>
      under("upstreams", at, [...wrongFolder(row, inspect), ...upstreamProblems(row)]),
    ),
  ];
  for (const [at, row] of models.entries()) {
    if (at % modelsOfStep === 0) yield;
    notes.push(...under("models", at, modelProblems(row, kindOf, show)));
  }
  yield;
  return [...notes, ...wrongDefaults(file, provisioned, models, show)];
}

const under = (list: string, at: number, notes: readonly Note[]): Note[] =>
  notes.map((note) => ({ ...note, path: [list, at, ...note.path] }));

type UpstreamRow = Config["upstreams"][number];
type ModelRow = Config["models"][number];

/** The paths begin in the entry. */
export const upstreamProblems = (upstream: UpstreamRow): Note[] => [
  ...missingNeeds(upstream),
  ...missingChoice(upstream),
  ...twoCredentials(upstream),
  ...metadataAddresses(upstream),
];

/** `kindOf`: the kinds of all upstreams by id. The paths begin in the entry. */
export const modelProblems = (model: ModelRow, kindOf: KindsOfUpstreams, show: Show): Note[] => [
  ...wrongTargets(model, kindOf, show),
  ...wrongImageSteps(model, kindOf, show),
  ...mixedSpaces(model, kindOf, show),
];

/** The kinds of upstreams by their ids. */
type KindsOfUpstreams = Pick<ReadonlyMap<string, string>, "get" | "keys">;

const unknownProjects = ({ keys, projects }: Config, show: Show): Note[] => {
  const names = projects.map(({ name }) => name);
  const known = new Set(names);
  return keys.flatMap(({ project }, i): Note[] => {
    if (project === undefined || known.has(project)) return [];
    const hint = didYouMean(project, names, show);
    return [
      { path: ["keys", i, "project"], message: `there is no project ${show(project)}${hint}` },
    ];
  });
};

function duplicates<K extends string>(
  list: string,
  key: K,
  rows: readonly { readonly [key in K]?: string | undefined }[],
  show: Show,
): Note[] {
  const first = new Map<string, number>();
  return rows.flatMap(({ [key]: value }, i): Note[] => {
    if (value === undefined) return [];
    const same = first.get(value);
    if (same === undefined) {
      first.set(value, i);
      return [];
    }
    const message = `${show(value)} is the same as ${list}[${same}].${key}`;
    return [{ path: [list, i, key], message }];
  });
}

const missingNeeds = (upstream: UpstreamRow): Note[] =>
  (kinds.get(upstream.kind)?.needs ?? [])
    .filter((need) => !isSet(upstream, need))
    .map((need) => ({
      path: [need],
      message: `is missing: an upstream of kind ${upstream.kind} needs it`,
    }));

function missingChoice(upstream: UpstreamRow): Note[] {
  const { kind } = upstream;
  const sets = kinds.get(kind)?.needsOneOf;
  if (!sets || sets.some((set) => set.every((name) => isSet(upstream, name)))) return [];
  const choice = sets.map((set) => set.join(" and ")).join(", or ");
  return [{ path: [], message: `an upstream of kind ${kind} needs ${choice}` }];
}

/** One of them would be ignored. */
const twoCredentials = (upstream: UpstreamRow): Note[] =>
  ["apiKey", "serviceAccount"]
    .filter((name) => isSet(upstream, "auth") && isSet(upstream, name))
    .map((name) => ({ path: ["auth"], message: `set either ${name} or auth` }));

/** Only the credentials of `auth` come from a metadata service, at the address that the cloud documents. */
const metadataAddresses = (upstream: UpstreamRow): Note[] =>
  Object.entries(upstream).flatMap(([name, value]): Note[] =>
    /Url$/.test(name) && typeof value === "string" && isMetadataHost(new URL(value).hostname)
      ? [{ path: [name], message: "is the address of a metadata service" }]
      : [],
  );

const isSet = (upstream: object, name: string): boolean =>
  (upstream as Readonly<Record<string, unknown>>)[name] !== undefined;

/** A folder that does not exist or has no model would fail at the first request. */
export const wrongFolder = (upstream: UpstreamRow, inspect: InspectFolder): Note[] =>
  upstream.kind === "local" && "path" in upstream && typeof upstream.path === "string"
    ? inspect(upstream.path).map((message) => ({ path: ["path"], message }))
    : [];

const wrongTargets = ({ kind, targets }: ModelRow, kindOf: KindsOfUpstreams, show: Show): Note[] =>
  targets.flatMap(({ upstream }, j): Note[] => {
    const path = ["targets", j, "upstream"];
    const upstreamKind = kindOf.get(upstream);
    if (upstreamKind === undefined)
      return [{ path, message: () => unknownUpstream(upstream, kindOf.keys(), show) }];
    const only = kinds.get(upstreamKind)?.serves;
    if (only === undefined || kind === only) return [];
    const reason = `which serves only ${only} models, and this model is of kind ${kind}`;
    return [{ path, message: `${show(upstream)} is of kind ${upstreamKind}, ${reason}` }];
  });

/**
 * `surface: responses` needs the image tool of the Responses API, which only OpenAI and Azure have. A moderation
 * upstream must exist and support moderation.
 */
function wrongImageSteps(model: ModelRow, kindOf: KindsOfUpstreams, show: Show): Note[] {
  if (model.kind !== "image") return [];
  const surfaceNotes = model.targets.flatMap(({ upstream, surface }, j): Note[] => {
    const kind = kindOf.get(upstream);
    if (surface !== "responses" || kind === undefined || responsesKinds.has(kind)) return [];
    const supporting = [...responsesKinds].join(" and ");
    const message = `only ${supporting} support it, and ${show(upstream)} is of kind ${kind}`;
    return [{ path: ["targets", j, "surface"], message }];
  });
  if (!model.moderation) return surfaceNotes;
  const { upstream } = model.moderation;
  const kind = kindOf.get(upstream);
  if (kind !== undefined && adapters.get(kind)?.moderations) return surfaceNotes;
  const message =
    kind === undefined
      ? () => unknownUpstream(upstream, kindOf.keys(), show)
      : `${show(upstream)} is of kind ${kind}, which does not support moderation`;
  return [...surfaceNotes, { path: ["moderation", "upstream"], message }];
}

const responsesKinds: ReadonlySet<string> = new Set(["openai", "azure"]);

function mixedSpaces(row: ModelRow, kindOf: KindsOfUpstreams, show: Show): Note[] {
  if (row.kind !== "embedding" || row.sameSpace === true) return [];
  const describe = ({ upstream, model, space }: TargetSpace): string => {
    const name = show(model);
    // The space is derived from the name: if the name must not be shown, neither must the space.
    return `${name} at ${show(upstream)} (vector space ${name.startsWith('"') ? show(space) : name})`;
  };
  const spaces = row.targets.map(({ upstream, model }, j): TargetSpace => {
    return { upstream, model, space: vectorSpaceOf(model, kindOf.get(upstream)), j };
  });
  return spaces.flatMap((target): Note[] => {
    const [first = target] = spaces;
    if (target.space === first.space) return [];
    const message =
      `${describe(first)} and ${describe(target)} are different models, and their vectors cannot be compared; ` +
      "set sameSpace: true on the model if they are one model under two names";
    return [{ path: ["targets", target.j, "model"], message }];
  });
}

/** A target, its index in the list, and its vector space. */
interface TargetSpace {
  readonly upstream: string;
  readonly model: string;
  readonly space: string;
  readonly j: number;
}

function unknownUpstream(name: string, known: Iterable<string>, show: Show): string {
  const provider = providers.find(({ kind }) => kind === name);
  const hint = provider
    ? ` (${variablesOf(provider)[0]} would create it, or add it under upstreams)`
    : didYouMean(name, known, show);
  return `there is no upstream ${show(name)}${hint}`;
}

/**
 * `defaults` of the file and of its keys (the models of requests that name none): models that do not exist, are of the
 * other kind, or that their key may not use.
 */
export function wrongDefaults(
  file: Pick<Config, "defaults" | "keys"> & {
    readonly upstreams: readonly { readonly id: string }[];
  },
  provisioned: readonly ProvisionedUpstream[],
  models: Iterable<{ readonly id: string; readonly kind: string }>,
  show: Show,
): Note[] {
  const named = new Set(file.upstreams.map((upstream) => upstream.id));
  const kindOf = new Map<string, string>();
  for (const { upstream, models: own } of provisioned) {
    // A configured upstream replaces the provisioned one, with its models.
    if (!named.has(upstream.id)) for (const model of own) kindOf.set(model.id, model.kind);
  }
  for (const { id, kind } of models) kindOf.set(id, kind);
  const problemOf = (model: string, kind: string, globs: readonly string[]): string | undefined => {
    const actual = kindOf.get(model);
    if (actual === undefined) {
      return `there is no model ${show(model)}${didYouMean(model, kindOf.keys(), show)}`;
    }
    if (actual !== kind) {
      return `${show(model)} is of kind ${actual}, and this must be a model of kind ${kind}`;
    }
    if (globs.some((glob) => matchesGlob(glob, model))) return undefined;
    return `the key may not use ${show(model)}: add it to the key's models`;
  };
  const check = (given: Config["defaults"], path: Path, globs: readonly string[]): Note[] =>
    modelKinds.flatMap((kind): Note[] => {
      const model = given?.[kind];
      const message = model === undefined ? undefined : problemOf(model, kind, globs);
      return message === undefined ? [] : [{ path: [...path, kind], message }];
    });
  return [
    ...check(file.defaults, ["defaults"], ["*"]),
    ...file.keys.flatMap((key, at) => check(key.defaults, ["keys", at, "defaults"], key.models)),
  ];
}
