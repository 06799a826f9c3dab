/** Validates a whole configuration, from `vexel.yaml` alone or together with the entities of the store. */

import { z } from "zod";
import { didYouMean } from "../lib/edit-distance.ts";
import { matchesGlob } from "../lib/glob.ts";
import type { Upstream } from "../upstream/contract.ts";
import { kinds } from "../upstream/kinds.ts";
import { explainIssue, valueAt } from "./error-messages.ts";
import { lenientList, lenientText } from "./lenient-view.ts";
import { configuredLimits } from "./limit-scopes.ts";
import type { Note, Path } from "./problem.ts";
import type { ProvisionedUpstream } from "./provision.ts";
import { type ConfigFile, fileSchema } from "./schema.ts";
import { type InspectFolder, validateReferences } from "./validate-references.ts";

export interface Config extends Omit<ConfigFile, "upstreams"> {
  readonly upstreams: readonly Upstream[];
}

/**
 * Upstreams and models provisioned without the file. `environment: false` in the file switches off those of the
 * environment, and `builtInModels: false` the built-in ones.
 */
type Provisioned = Readonly<
  Record<"environment" | "builtInModels", readonly ProvisionedUpstream[]>
>;

export interface ValidationOptions {
  readonly provisioned?: Provisioned | undefined;
  /** Quotes a value of the configuration in a message. */
  readonly show: (text: string) => string;
  /** Checks the folders of local models, so that a problem shows before the first request. */
  readonly inspectFolder?: InspectFolder | undefined;
}

interface ValidatedConfig {
  /** Undefined if the schema refuses the configuration. A config that the schema accepts may have notes, too. */
  readonly config: Config | undefined;
  /** All problems. */
  readonly notes: readonly Note[];
}

export function validateConfig(
  raw: unknown,
  { provisioned, show, inspectFolder = () => [] }: ValidationOptions,
): ValidatedConfig {
  const parsed = fileSchema.safeParse(raw);
  const available = (["environment", "builtInModels"] as const).flatMap((source) =>
    valueAt(raw, [source]) === false ? [] : (provisioned?.[source] ?? []),
  );
  const upstreams = available.map(({ upstream }) => upstream);
  const notes = [
    ...(parsed.error?.issues.flatMap((issue) => explainIssue(issue, raw, show)) ?? []),
    ...validateReferences(raw, upstreams, show, inspectFolder),
    ...checkDefaults(raw, available, show),
  ];
  const { data } = parsed;
  const config = data && { ...data, upstreams: data.upstreams.map(asUpstream) };
  return { config, notes };
}

/** A key without a value counts as absent. `depth`: how deeply the schema is nested. */
export function withoutNulls(value: unknown, depth: number): unknown {
  if (depth === 0 || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((entry) => withoutNulls(entry, depth - 1));
  const kept = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutNulls(member, depth - 1)]));
}

function asUpstream(row: ConfigFile["upstreams"][number]): Upstream {
  const { id, kind, baseUrl = kinds.get(kind)?.baseUrl, apiKey, headers, limits, ...options } = row;
  return {
    id,
    kind,
    ...(baseUrl !== undefined && { baseUrl }),
    ...(apiKey !== undefined && { apiKey }),
    headers,
    ...configuredLimits(limits),
    options,
  };
}

const modelKinds = ["embedding", "image"] as const;

const defaultModels = z.object({ embedding: lenientText, image: lenientText }).partial().catch({});
const view = z
  .object({
    defaults: defaultModels.optional(),
    upstreams: lenientList({ id: lenientText }),
    models: lenientList({ id: lenientText, kind: lenientText }),
    keys: lenientList({
      defaults: defaultModels.optional(),
      models: z.array(z.string()).optional().catch(undefined),
    }),
  })
  .partial()
  .catch({});

type Show = (text: string) => string;

/**
 * Checks `defaults` of the file and of its keys (the models of requests that name none) against the configured models.
 * Reports defaults that do not exist, are of the other kind, or that their key may not use.
 */
function checkDefaults(raw: unknown, provided: readonly ProvisionedUpstream[], show: Show): Note[] {
  const file = view.parse(raw);
  const named = new Set(file.upstreams?.map((upstream) => upstream.id));
  const kindOf = new Map<string, string | undefined>();
  for (const { upstream, models } of provided) {
    // An upstream in the file replaces the provisioned one, with its models.
    if (!named.has(upstream.id)) for (const model of models) kindOf.set(model.id, model.kind);
  }
  for (const model of file.models ?? []) {
    if (model.id !== undefined) kindOf.set(model.id, model.kind);
  }
  const problemOf = (model: string, kind: string, globs: readonly string[]): string | undefined => {
    if (!kindOf.has(model)) {
      return `there is no model ${show(model)}${didYouMean(model, kindOf.keys(), show)}`;
    }
    const actual = kindOf.get(model);
    if (actual !== kind && (actual === "embedding" || actual === "image")) {
      return `${show(model)} is of kind ${actual}, and this must be a model of kind ${kind}`;
    }
    if (globs.some((glob) => matchesGlob(glob, model))) return undefined;
    return `the key may not use ${show(model)}: add it to the key's models`;
  };
  const check = (
    given: z.output<typeof defaultModels> | undefined,
    path: Path,
    globs: readonly string[],
  ): Note[] =>
    modelKinds.flatMap((kind): Note[] => {
      const model = given?.[kind];
      const message = model === undefined ? undefined : problemOf(model, kind, globs);
      return message === undefined ? [] : [{ path: [...path, kind], message }];
    });
  return [
    ...check(file.defaults, ["defaults"], ["*"]),
    ...(file.keys ?? []).flatMap((key, at) =>
      check(key.defaults, ["keys", at, "defaults"], key.models ?? ["*"]),
    ),
  ];
}
