/** Validates a whole configuration, from `vexel.yaml` alone or together with the entities of the store. */
import type { Upstream } from "../upstream/contract.ts";
import { kinds } from "../upstream/kinds.ts";
import { checkDefaults } from "./check-defaults.ts";
import { explainIssue, valueAt } from "./error-messages.ts";
import { limitsOf } from "./limits.ts";
import type { Note } from "./problem.ts";
import type { ProvisionedUpstream } from "./provision.ts";
import { type ConfigFile, fileSchema } from "./schema.ts";
import { type InspectFolder, validateReferences } from "./validate-references.ts";

export interface Config extends Omit<ConfigFile, "upstreams"> {
  readonly upstreams: readonly Upstream[];
}

/** Upstreams and models provisioned without the file, unless the file sets the key of that name to false. */
export type Provisioned = Readonly<
  Record<"environment" | "embedded", readonly ProvisionedUpstream[]>
>;

export interface ValidationOptions {
  readonly provisioned?: Provisioned | undefined;
  /** Quotes a value of the configuration in a message. */
  readonly show: (text: string) => string;
  /** Checks the folders of local models, so that a problem shows before the first request. */
  readonly inspectFolder?: InspectFolder | undefined;
}

export interface ValidatedConfig {
  /** Undefined if the schema refuses the configuration. It may have notes nevertheless. */
  readonly config: Config | undefined;
  /** All problems. */
  readonly notes: readonly Note[];
}

export function validateConfig(
  raw: unknown,
  { provisioned, show, inspectFolder = () => [] }: ValidationOptions,
): ValidatedConfig {
  const parsed = fileSchema.safeParse(raw);
  const available = (["environment", "embedded"] as const).flatMap((source) =>
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

/** A key without a value counts as absent. `depth`: the schema is not nested any deeper. */
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
    ...limitsOf(limits),
    options,
  };
}
