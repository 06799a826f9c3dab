/**
 * Configuration warnings, about a configuration that is valid: missing parts, API keys that name models or projects
 * that do not exist, embedding models whose facts contradict the catalog, and models that their vendors shut down.
 */
import { didYouMean } from "../../lib/edit-distance.ts";
import { matchesGlob } from "../../lib/glob.ts";
import { memoize } from "../../lib/memoize.ts";
import { dayMs } from "../../lib/timers.ts";
import { canTruncateTo } from "../../upstream/catalog/index.ts";
import { isShutDown, shutdownDateOf } from "../../upstream/catalog/shutdowns/index.ts";
import type { Target } from "../../upstream/contract.ts";
import { kinds } from "../../upstream/kinds.ts";
import type { Key, Model, Snapshot } from "../snapshot.ts";
import type { StoredKeys } from "./stored-keys.ts";

/** The most warnings about stored keys. There may be 100,000 keys in a project that was removed. */
const maxWarnings = 20;

/**
 * What a gateway cannot do at all: without the folder `lib` beside the executable, and without any model. `lib`: the
 * path of the missing folder.
 */
export const missingPartWarnings = (
  { models }: Pick<Snapshot, "models">,
  lib: string | undefined,
): string[] => [
  ...(lib === undefined
    ? []
    : [
        `the folder ${lib} is missing: there are no built-in models, and image edits and conversions fail. Extract the whole release archive, and keep lib beside the executable`,
      ]),
  ...(models.size > 0
    ? []
    : [
        `no model is configured, so requests for a model are refused. Set the API key of a provider, such as OPENAI_API_KEY, add an upstream and a model in the console, or list them in vexel.yaml${lib === undefined ? '; without "builtInModels: false" there are built-in models' : ""}`,
      ]),
];

/** In steps. `now`: Unix milliseconds, to compare shutdown dates and the ends of keys with. */
export function* configWarnings(
  snapshot: Snapshot,
  storedKeys: StoredKeys,
  now: number | undefined,
): Generator<void, string[]> {
  const { fileKeys = new Map<string, Key>(), models } = snapshot;
  const warnings = unusedGlobWarnings(fileKeys.values(), models);
  yield;
  const references = new ReferenceWarnings(snapshot);
  let checked = 0;
  for (const key of storedKeys.byHash.values()) {
    references.check(key);
    if (++checked % keysOfStep === 0) yield;
  }
  warnings.push(...references.texts(), ...embeddingWarnings(snapshot));
  if (now === undefined) return warnings;
  warnings.push(...expiredKeyWarnings(fileKeys.values(), now));
  yield;
  return [...warnings, ...shutdownWarnings(snapshot, now)];
}

const keysOfStep = 5000;

/** Globs of keys that match no model are usually a mistake. */
export function unusedGlobWarnings(
  keys: Iterable<Pick<Key, "name" | "models">>,
  models: ReadonlyMap<string, Model>,
): string[] {
  const ids = [...models.keys()];
  // Most keys have the same few globs.
  const known = new Map<string, boolean>();
  const isUnused = (glob: string): boolean => {
    let unused = known.get(glob);
    unused ??= !models.has(glob) && !ids.some((id) => matchesGlob(glob, id));
    known.set(glob, unused);
    return unused;
  };
  return [...keys].flatMap(({ name, models: globs }) =>
    globs
      .filter(isUnused)
      .map(
        (glob) =>
          `the key ${JSON.stringify(name)} may use ${glob}, but no model id matches it${didYouMean(glob, ids, (id) => id)}`,
      ),
  );
}

/**
 * Stored keys refer to projects and models that may not exist. Such a key has no project limits and no project budget,
 * or no default model of its own. In the file, these references are errors.
 */
class ReferenceWarnings {
  readonly #snapshot: Pick<Snapshot, "projects" | "models">;
  readonly #texts: string[] = [];
  #more = 0;

  constructor(snapshot: Pick<Snapshot, "projects" | "models">) {
    this.#snapshot = snapshot;
  }

  check({ name, project, defaults }: Pick<Key, "name" | "project" | "defaults">): void {
    const { projects, models } = this.#snapshot;
    if (project !== undefined && !projects?.has(project)) {
      this.#add(
        `the key ${JSON.stringify(name)} belongs to the project ${JSON.stringify(project)}, which does not exist: only the key's own limits and budget apply`,
      );
    }
    if (!defaults) return;
    for (const [kind, id] of Object.entries(defaults)) {
      if (models.get(id)?.kind === kind) continue;
      this.#add(
        `the key ${JSON.stringify(name)} has the default ${kind} model ${JSON.stringify(id)}, but there is no ${kind} model of that name: the defaults of the configuration apply`,
      );
    }
  }

  texts(): readonly string[] {
    if (this.#more === 0) return this.#texts;
    return [...this.#texts, `${this.#more} more warnings of this kind about stored keys`];
  }

  #add(warning: string): void {
    if (this.#texts.length < maxWarnings) this.#texts.push(warning);
    else this.#more += 1;
  }
}

export function unknownReferenceWarnings(
  keys: Iterable<Pick<Key, "name" | "project" | "defaults">>,
  snapshot: Pick<Snapshot, "projects" | "models">,
): readonly string[] {
  const warnings = new ReferenceWarnings(snapshot);
  for (const key of keys) warnings.check(key);
  return warnings.texts();
}

/** Warnings about configured embedding models that are valid but cannot serve a request, from the catalog's facts. */
const embeddingWarnings = ({ models }: Pick<Snapshot, "models">): string[] =>
  [...models.values()]
    .filter(({ kind, source }) => kind === "embedding" && (source === "yaml" || source === "store"))
    .flatMap(dimensionsWarning);

/** `dimensions` of a model declares the length of its vectors; authors often expect it to shorten them. */
function dimensionsWarning({ id, dimensions, known, targets }: Model): string[] {
  if (!known || dimensions === undefined || dimensions === known.dimensions) return [];
  // A self-hosted server may be configured to shorten them.
  if (canTruncateTo(known, dimensions) && !targets.some(isAtVendorAddress)) return [];
  return [
    `the model ${JSON.stringify(id)} has dimensions: ${dimensions}, but ${known.name} returns ${known.dimensions} unless a request has dimensions: its responses will be refused; remove dimensions from the model, and let clients send it if the model supports it`,
  ];
}

/** The upstream is the vendor itself, not another server of the same kind. */
const isAtVendorAddress = ({ upstream: { kind, baseUrl } }: Target): boolean =>
  Boolean(baseUrl?.startsWith("https:")) && baseUrl === kinds.get(kind)?.baseUrl;

/** A configured key that is refused from its first request on is usually a mistake. */
const expiredKeyWarnings = (
  keys: Iterable<Pick<Key, "name" | "expiresAt">>,
  now: number,
): string[] =>
  [...keys].flatMap(({ name, expiresAt = Number.POSITIVE_INFINITY }) =>
    expiresAt > now
      ? []
      : [
          `the key ${JSON.stringify(name)} expired at ${new Date(expiresAt).toISOString()}, so its requests are refused`,
        ],
  );

/** Later shutdown dates are only in `GET /v1/models`. */
const warnDaysAhead = 180;

/** The day from which no target serves the model. Undefined if any target has no known shutdown date. */
export function modelShutdownDate(targets: readonly Target[]): string | undefined {
  const dates = targets.flatMap(
    ({ upstream, model }) => shutdownDateOf(model, upstream.kind)?.on ?? [],
  );
  return dates.length === targets.length ? dates.sort().at(-1) : undefined;
}

type Shutdown = NonNullable<ReturnType<typeof shutdownDateOf>>;
interface TargetShutdown {
  readonly target: Target;
  readonly shutdown: Shutdown;
}

const shutdownsOf = memoize(({ targets }: Model): readonly TargetShutdown[] =>
  targets.flatMap((target) => {
    const shutdown = shutdownDateOf(target.model, target.upstream.kind);
    return shutdown ? [{ target, shutdown }] : [];
  }),
);

/** `now`: Unix milliseconds. */
const shutdownWarnings = ({ models }: Pick<Snapshot, "models">, now: number): string[] =>
  [...models.values()].flatMap((each) =>
    shutdownsOf(each).flatMap(({ target: { upstream, model }, shutdown }) => {
      if (Date.parse(shutdown.on) - now > warnDaysAhead * dayMs) return [];
      const verb = isShutDown(shutdown, now) ? "was shut down" : "will be shut down";
      return [
        `the model ${JSON.stringify(each.id)}: ${JSON.stringify(model)} at ${JSON.stringify(upstream.id)} ${verb} on ${shutdown.on} (${shutdown.source}). Configure another model as its target`,
      ];
    }),
  );
