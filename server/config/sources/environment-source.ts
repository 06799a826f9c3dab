/**
 * The environment as a source of the configuration, read once, because variables do not change while the process runs:
 * well-known variables -> upstreams and their catalog models, so that provider keys alone are enough.
 */

import { modelKinds } from "../../../contract/model-kinds.ts";
import { id as idSchema, secret } from "../../../contract/schemas/names.ts";
import { baseUrl as baseUrlSchema } from "../../../contract/schemas/upstreams.ts";
import { commaList } from "../../lib/comma-list.ts";
import { type CatalogModel, catalogModels } from "../../upstream/catalog/served-models.ts";
import { isShutDown, shutdownDateOf } from "../../upstream/catalog/shutdowns/index.ts";
import { kinds } from "../../upstream/kinds.ts";
import type { Environment } from "../yaml/parse-yaml.ts";
import { type Provider, providers, variablesOf } from "./providers.ts";
import type { ProvisionedModel, ProvisionedUpstream } from "./provisioned-upstreams.ts";

export interface FromEnvironment {
  readonly upstreams: readonly ProvisionedUpstream[];
  /** Providers whose variables are incomplete or invalid, by id. */
  readonly warnings: readonly { readonly id: string; readonly message: string }[];
}

/** `now`: Unix milliseconds. Catalog models that have ended by then are left out. */
export function fromEnvironment(env: Environment, now = -Infinity): FromEnvironment {
  const warnings: { id: string; message: string }[] = [];
  const usedIds = new Set<string>();
  const upstreams = providers.flatMap((provider) => {
    const found = provision(provider, env, now);
    if (typeof found === "string") warnings.push({ id: provider.kind, message: found });
    if (found === undefined || typeof found === "string") return [];
    const models = found.models.map((model): ProvisionedModel => {
      const id = usedIds.has(model.id) ? `${provider.kind}/${model.id}` : model.id;
      usedIds.add(id);
      return { ...model, id };
    });
    return [{ ...found, models }];
  });
  return { upstreams, warnings };
}

/** The provisioned upstream; a warning if the variables are incomplete or invalid; undefined if none is set. */
function provision(
  provider: Provider,
  env: Environment,
  now: number,
): ProvisionedUpstream | string | undefined {
  const set = variablesOf(provider).filter(
    (name) => read(env, name) !== undefined && !provider.shared?.includes(name),
  );
  if (set.length === 0) return undefined;
  const { kind } = provider;
  const skipped = `the upstream ${kind} is not created`;

  const missing = missingVariables(provider, env);
  if (missing !== undefined) return `${set.join(", ")} is set, but ${missing} is not: ${skipped}`;
  const keyVariable = provider.apiKey?.find((name) => read(env, name) !== undefined);
  const apiKey = keyVariable && read(env, keyVariable);
  if (apiKey !== undefined && !secret.safeParse(apiKey).success)
    return `${keyVariable} contains a space or another character that is not allowed in a header: ${skipped}`;

  const baseUrl = readBaseUrl(provider, env);
  if (baseUrl?.success === false) return `${provider.baseUrl} is not a valid URL: ${skipped}`;
  const baseUrlOrDefault = baseUrl?.data ?? kinds.get(kind)?.baseUrl;

  const models = modelsOf(provider, env, now);
  if (models.some(({ id }) => !idSchema.safeParse(id).success))
    return `${Object.values(provider.deployments ?? {}).join(" or ")} contains an invalid deployment name: ${skipped}`;

  const options = Object.entries(provider.options ?? {}).flatMap(([option, name]) => {
    const value = read(env, name);
    return value === undefined ? [] : [[option, value] as const];
  });
  const variable = keyVariable ?? set[0];
  return {
    ...(variable !== undefined && { variable }),
    upstream: {
      id: kind,
      kind,
      ...(baseUrlOrDefault !== undefined && { baseUrl: baseUrlOrDefault }),
      ...(apiKey !== undefined && { apiKey }),
      headers: {},
      options: Object.fromEntries(options),
    },
    models: models.map((known) => ({ ...known, name: known.id })),
  };
}

/** The variables of a value that the upstream needs, if none of them is set. */
function missingVariables(
  { kind, apiKey = [], baseUrl, options = {} }: Provider,
  env: Environment,
): string | undefined {
  const variables = new Map([
    ["apiKey", apiKey],
    ["baseUrl", baseUrl === undefined ? [] : [baseUrl]],
    ...Object.entries(options).map(([option, name]) => [option, [name]] as const),
  ]);
  // Some kinds need no API key, but a provider with a variable for it does.
  return [...(kinds.get(kind)?.needs ?? []), ...(apiKey.length > 0 ? ["apiKey"] : [])]
    .map((need) => variables.get(need))
    .find((names) => names?.every((name) => read(env, name) === undefined))
    ?.join(" or ");
}

/** Undefined if the variable is not set. */
function readBaseUrl({ kind, baseUrl }: Provider, env: Environment) {
  const address = baseUrl && read(env, baseUrl);
  if (!address) return undefined;
  return baseUrlSchema.safeParse(kind === "ollama" ? ollamaUrl(address) : address);
}

function modelsOf(
  { kind, deployments }: Provider,
  env: Environment,
  now: number,
): readonly CatalogModel[] {
  const known = catalogModels[kind] ?? [];
  const named = modelKinds.flatMap((modelKind) =>
    deploymentsIn(deployments && read(env, deployments[modelKind])).map(
      (id): CatalogModel =>
        known.find((row) => row.id === id && row.kind === modelKind) ?? { id, kind: modelKind },
    ),
  );
  // A list of deployments is complete: the operator decides which models it names, also models that were shut down.
  if (named.length > 0) return named;
  return known.filter(({ id }) => {
    const shutdown = shutdownDateOf(id, kind);
    return !shutdown || !isShutDown(shutdown, now);
  });
}

const deploymentsIn = (text = ""): readonly string[] => [...new Set(commaList(text))];

/** An empty variable counts as not set: a compose file that passes on an unset variable sets it to an empty value. */
function read(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === "" ? undefined : value;
}

/** Ollama's URL from its own OLLAMA_HOST, which often has no scheme and often is the server's listen address. */
export function ollamaUrl(host: string): string | undefined {
  const [, scheme = "http", rest = ""] = /^(?:(https?):\/\/)?(.*)$/is.exec(host) ?? [];
  // No host means this machine, and so do the wildcard addresses.
  const written = `${scheme}://${rest.startsWith(":") ? "127.0.0.1" : ""}${rest}`;
  if (rest === "" || !URL.canParse(written)) return undefined;
  const url = new URL(written);
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]") url.hostname = "127.0.0.1";
  // Without a scheme Ollama's default port is 11434; with http:// or https:// it is that scheme's port.
  const named = /:\d+(?:\/|$)/.test(rest);
  if (!host.includes("://") && !named) url.port = "11434";
  // Other programs use the address of its OpenAI-compatible API, which ends in /v1.
  return url.href.replace(/\/+$/, "").replace(/\/v1$/, "");
}
