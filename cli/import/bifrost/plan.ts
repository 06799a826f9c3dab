/** The plan of an import from Bifrost: virtual keys, teams and customers. */
import { secretHash } from "../../../server/lib/secret-hash.ts";
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import type { FoundLoss } from "../losses.ts";
import {
  type ImportPlan,
  importedKeyId,
  type PlannedKey,
  printableName,
  Upstreams,
} from "../plan.ts";
import type { Report, SubjectReport } from "../report.ts";
import { budgetsOf, isLimited, rateLimitsOf } from "./limits.ts";
import { planModels, serves } from "./plan-models.ts";
import { type BifrostSource, namesIn, objectsIn, textIn } from "./source.ts";

interface Owner {
  readonly project: string;
  readonly given: NonNullable<PlannedKey["imported"]>["project"];
  readonly losses: readonly FoundLoss[];
}

/** `resolve` returns undefined if the variable is not set. `now`: Unix milliseconds. */
export function planBifrost(
  source: BifrostSource,
  report: Report,
  resolve: (variable: string) => string | undefined,
  now: number,
): ImportPlan {
  const upstreams = new Upstreams();
  const models = planModels(source, upstreams, report);
  const projects = new Map<string, JsonObject>();
  const owners = new Map<string, Owner>();
  for (const [what, rows] of [
    ["team", source.teams],
    ["customer", source.customers],
  ] as const)
    for (const row of rows) {
      const about = report.about(`${what} ${JSON.stringify(row.name)}`);
      const name = printableName(String(row.name ?? row.id));
      const project = projects.has(name) ? printableName(`${name} ${row.id}`) : name;
      const { limits, losses } = rateLimitsOf(row, source, about);
      const { budget, given } = budgetsOf(row, source, about);
      projects.set(project, { ...(limits && { limits }), ...(budget && { budget }) });
      about.carried("", `project ${JSON.stringify(project)}`);
      owners.set(`${what} ${row.id}`, {
        project,
        given: { ...(limits && { limits }), ...(given && { budget: given }) },
        losses: [...losses, ...customerLosses(row, source)],
      });
    }
  const plugins = pluginLosses(source);
  const hashes: string[] = [];
  const keys = source.virtualKeys.flatMap((row): PlannedKey[] => {
    const about = report.about(`key ${JSON.stringify(printableName(String(row.name ?? row.id)))}`);
    const hash = hashOf(row, resolve);
    if (hash !== undefined) hashes.push(hash);
    const owner = owners.get(row.team_id ? `team ${row.team_id}` : `customer ${row.customer_id}`);
    const key = planKey(row, { hash, owner, models, plugins, source, report: about, now });
    return key ? [key] : [];
  });
  const used = new Set(
    [...models.values()].flatMap(({ targets }) =>
      objectsIn(targets).map(({ upstream }) => upstream),
    ),
  );
  const named = new Set(keys.map(({ project }) => project));
  return {
    source: "bifrost",
    sourceHashes: new Set(hashes),
    upstreams: new Map([...upstreams.all].filter(([id]) => used.has(id))),
    models,
    projects: new Map([...projects].filter(([name]) => named.has(name))),
    keys,
  };
}

/** A team may belong to a customer, whose budget limits it, too. */
function customerLosses({ customer_id }: JsonObject, source: BifrostSource): readonly FoundLoss[] {
  const customer = source.customers.find(
    ({ id }) => id === customer_id && customer_id !== undefined,
  );
  return customer && isLimited(customer, source)
    ? [
        {
          loss: "organizations",
          field: "team.customer_id",
          note: "budget or limits of the customer of its team",
        },
      ]
    : [];
}

/** Plugins that count, log or cache. Others may refuse requests. */
const harmlessPlugins =
  /^(?:telemetry|logging|governance|otel|maxim|semantic_?cache|litellmcompat|compat|prompts)$/;

const pluginLosses = ({ plugins }: BifrostSource): readonly FoundLoss[] =>
  plugins
    .filter(({ enabled, name }) => enabled !== false && !harmlessPlugins.test(String(name)))
    .map(({ name }) => ({
      loss: "guardrails",
      field: "plugins",
      note: `the plugin ${JSON.stringify(name)} may check or refuse requests`,
    }));

/** The database has the hash also of a value that is encrypted. */
function hashOf(
  row: JsonObject,
  resolve: (variable: string) => string | undefined,
): string | undefined {
  const text = textIn(row.value);
  const value = text.startsWith("env.") ? resolve(text.slice(4)) : text;
  const stored = String(row.value_hash ?? "");
  if (/^[0-9a-f]{64}$/.test(stored)) return stored;
  return value === undefined || value === "" || row.encryption_status === "encrypted"
    ? undefined
    : secretHash(value);
}

interface KeyContext {
  readonly hash: string | undefined;
  readonly owner: Owner | undefined;
  readonly models: ReadonlyMap<string, JsonObject>;
  readonly plugins: readonly FoundLoss[];
  readonly source: BifrostSource;
  readonly report: SubjectReport;
  readonly now: number;
}

function planKey(row: JsonObject, context: KeyContext): PlannedKey | undefined {
  const { hash, owner, source, report, now } = context;
  const expiresAt = row.expires_at ? Date.parse(String(row.expires_at)) : undefined;
  const refusal = refusalOf(row, context, expiresAt);
  if (refusal !== undefined || hash === undefined) {
    report.refused(refusal ?? "its value is not known");
    return undefined;
  }
  const { limits, losses } = rateLimitsOf(row, source, report);
  if (
    !report.lost([
      ...context.plugins,
      ...losses,
      ...(owner?.losses ?? []),
      ...configLosses(row, source),
    ])
  )
    return undefined;
  const allowed = [...context.models.keys()].filter((id) => permitsModel(row, id));
  if (allowed.length === 0) {
    report.refused("Vexel serves none of its models");
    return undefined;
  }
  const { budget, given } = budgetsOf(row, source, report);
  report.carried("models", allowed.join(", "));
  report.carried("value", "by its hash: clients keep the key");
  const ends = expiresAt === undefined ? {} : { expiresAt };
  return {
    id: importedKeyId(hash),
    name: printableName(String(row.name ?? row.id)),
    hash,
    hint: "sk-bf-",
    models: allowed,
    createdAt: now,
    ...(owner && { project: owner.project }),
    ...ends,
    ...(limits && { limits }),
    ...(budget && { budget: { ...budget, unknownPrice: "allow" } }),
    imported: {
      source: "bifrost",
      models: allowed,
      ...(limits && { limits }),
      ...(given && { budget: given }),
      ...ends,
      ...(owner?.given && { project: owner.given }),
    },
  };
}

function refusalOf(
  row: JsonObject,
  { hash, owner, now }: KeyContext,
  expiresAt: number | undefined,
): string | undefined {
  if (hash === undefined) return "its value is encrypted, or a variable that is not set";
  if (row.is_active === false) return "the key is inactive";
  if (Number.isNaN(expiresAt)) return `its expires_at ${JSON.stringify(row.expires_at)} is no time`;
  if (expiresAt !== undefined && expiresAt <= now) return "the key has expired";
  return (row.team_id || row.customer_id) && !owner
    ? "its team or customer does not exist"
    : undefined;
}

/** A provider that the key does not name, and a list without names, permit nothing. */
function permitsModel(row: JsonObject, id: string): boolean {
  const [provider = ""] = id.split("/");
  const name = id.slice(provider.length + 1);
  const own = objectsIn(row.provider_configs).filter((config) => config.provider === provider);
  const has = (list: unknown): boolean =>
    namesIn(list).includes("*") || namesIn(list).includes(name);
  return (
    own.every((config) => !has(config.blacklisted_models)) &&
    own.some((config) => has(config.allowed_models))
  );
}

/** Limits of single providers and models, and credentials that only this key may use. */
function configLosses(row: JsonObject, source: BifrostSource): readonly FoundLoss[] {
  const configs = objectsIn(row.provider_configs);
  const ofModels = source.modelConfigs.some(
    ({ scope, scope_id }) => scope === "virtual_key" && scope_id === row.id,
  );
  return [
    ...(configs.some((config) => isLimited(config, source)) || ofModels
      ? [
          {
            loss: "model-limits",
            field: "provider_configs",
            note: "budgets or limits of a provider or a model",
          } as const,
        ]
      : []),
    ...(configs.some((config) => isRestricted(config, source))
      ? [
          {
            loss: "deployment-tags",
            field: "key_ids",
            note: "it may use some of the credentials of a provider only",
          } as const,
        ]
      : []),
  ];
}

function isRestricted(config: JsonObject, { providers }: BifrostSource): boolean {
  if (config.allow_all_keys === true || config.allow_all_keys === 1) return false;
  const ids = [
    ...namesIn(config.key_ids),
    ...objectsIn(config.keys).map(({ key_id, id }) => String(key_id ?? id)),
  ];
  if (ids.includes("*")) return false;
  const all = objectsIn(providers.get(String(config.provider))?.keys);
  const models = namesIn(config.allowed_models);
  return all.some(
    (key) =>
      !ids.includes(String(key.id ?? key.key_id)) &&
      !ids.includes(String(key.name)) &&
      models.some((name) => name === "*" || serves(key, name)),
  );
}
