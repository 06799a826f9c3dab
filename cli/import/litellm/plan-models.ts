/** Models and targets from LiteLLM's model list. Several entries with one name become the targets of one model. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { vectorSpaceOf } from "../../../server/upstream/catalog/index.ts";
import { guessModelKind } from "../../../server/upstream/catalog/served-models.ts";
import { limitsOf } from "../limits.ts";
import type { ModelKind } from "../list-price.ts";
import type { Upstreams } from "../plan.ts";
import type { Report, SubjectReport } from "../report.ts";
import { namesOf } from "./column-values.ts";
import {
  dropsParameters,
  isShortened,
  numberOf,
  orderOf,
  withCredential,
} from "./entry-options.ts";
import type { NamedModels } from "./key-models.ts";
import { addAliases, aliasesOf, reportRouting } from "./plan-aliases.ts";
import { planPrice } from "./plan-price.ts";
import { Parameters, planUpstream } from "./plan-upstream.ts";
import { providers, splitModel } from "./providers.ts";
import type { LitellmModel, LitellmSource } from "./source.ts";

interface PlannedTarget {
  readonly kind: ModelKind;
  readonly target: JsonObject & { readonly upstream: string; readonly model: string };
  readonly upstreamKind: string;
  /** The model that the operator says the deployment is, or else its name. */
  readonly space: string;
  readonly dropsParameters: boolean;
  readonly dimensions: number | undefined;
  readonly timeout: number | undefined;
  /** By the entry or by a list. */
  readonly hasPrice: boolean;
}

export interface PlannedModels extends NamedModels {
  readonly models: Map<string, JsonObject>;
  /** Names of models with a target whose price is not known. */
  readonly unpriced: ReadonlySet<string>;
}

export function planModels(
  source: LitellmSource,
  upstreams: Upstreams,
  report: Report,
): PlannedModels {
  const models = new Map<string, JsonObject>();
  const unpriced = new Set<string>();
  const groups = new Map<string, Set<string>>();
  const aliases = aliasesOf(source);
  const shared = new Set(aliases.values());
  const byName = Map.groupBy(source.models, ({ model_name }) => model_name);
  for (const [name, entries] of byName) {
    const about = report.about(`model ${JSON.stringify(name)}`);
    const targets = entries.flatMap(
      (entry) => planTarget(entry, { source, upstreams, report, isShared: shared.has(name) }) ?? [],
    );
    const model = joinTargets(name, targets, about);
    if (!model) continue;
    models.set(name, model);
    groups.set(name, accessGroupsOf(entries));
    if (targets.some(({ kind, hasPrice }) => kind === model.kind && !hasPrice)) unpriced.add(name);
  }
  addAliases(aliases, models, report);
  for (const [alias, name] of aliases)
    if (models.has(alias) && unpriced.has(name)) unpriced.add(alias);
  reportRouting(source, models, report);
  return { models, unpriced, groups, aliases };
}

/** LiteLLM joins the groups of all entries with one name. */
const accessGroupsOf = (entries: readonly LitellmModel[]): Set<string> =>
  new Set(entries.flatMap(({ model_info }) => namesOf(model_info.access_groups) ?? []));

function joinTargets(
  name: string,
  targets: readonly PlannedTarget[],
  report: SubjectReport,
): JsonObject | undefined {
  const [first] = targets;
  if (!first) return undefined;
  if (name === "") {
    report.dropped("", "not imported: the entry has no model_name");
    return undefined;
  }
  if (!/^[^\s\p{C}]{1,200}$/u.test(name)) {
    report.dropped(
      "",
      "the name has spaces or more than 200 characters, which a model id cannot have",
    );
    return undefined;
  }
  const own = targets.filter(({ kind }) => kind === first.kind);
  if (own.length < targets.length)
    report.dropped(
      "",
      `the entries are for embeddings and for images; only the ${own.length} for ${first.kind}s are imported`,
    );
  if (first.kind === "embedding" && new Set(own.map(({ space }) => space)).size > 1) {
    report.dropped("", `refused: ${describeMixture(own)}`);
    return undefined;
  }
  const [dimensions] = own.flatMap((target) => target.dimensions ?? []);
  const [timeout] = own.flatMap((target) => target.timeout ?? []);
  report.carried(
    "",
    `${first.kind} model with ${own.length} ${own.length === 1 ? "target" : "targets"}`,
  );
  return {
    kind: first.kind,
    targets: orderedTargets(own),
    ...(first.kind === "embedding" && dimensions !== undefined && { dimensions }),
    ...(timeout !== undefined && { timeout }),
    ...(first.kind === "embedding" && isMixed(own) && { sameSpace: true }),
    ...(own.some(({ dropsParameters }) => dropsParameters) && { parameters: "drop" }),
  };
}

/** LiteLLM uses entries without an order after those with one. */
function orderedTargets(targets: readonly PlannedTarget[]): readonly JsonObject[] {
  const tiers = targets.flatMap(({ target }) =>
    typeof target.tier === "number" ? [target.tier] : [],
  );
  if (tiers.length === 0) return targets.map(({ target }) => target);
  const last = Math.max(...tiers) + 1;
  return targets.map(({ target }) => ({ ...target, tier: target.tier ?? last }));
}

/** Vexel knows the models by their names only. */
const isMixed = (targets: readonly PlannedTarget[]): boolean =>
  new Set(targets.map(({ target, upstreamKind }) => vectorSpaceOf(target.model, upstreamKind)))
    .size > 1;

const spaceOf = (model: string, kind: string, baseModel: string | undefined): string =>
  baseModel === undefined
    ? vectorSpaceOf(model, kind)
    : vectorSpaceOf(splitModel(baseModel, undefined)?.name ?? baseModel);

const describeMixture = (targets: readonly PlannedTarget[]): string => {
  const names = [...new Set(targets.map(({ target }) => target.model))].join(", ");
  return (
    `its entries are different models (${names}), whose vectors cannot be compared. LiteLLM sends each request to any of them, ` +
    "so an index that was filled through this name may hold vectors of several models. Import one of them, under a name of its own"
  );
};

interface TargetContext {
  readonly source: LitellmSource;
  readonly upstreams: Upstreams;
  readonly report: Report;
  /** Several models have the target. */
  readonly isShared: boolean;
}

/** Undefined: the entry is not served by Vexel, which was reported. */
function planTarget(
  { model_name, litellm_params, model_info, where, isBlocked }: LitellmModel,
  { source, upstreams, report, isShared }: TargetContext,
): PlannedTarget | undefined {
  const about = report.about(`model ${JSON.stringify(model_name)} (${where})`);
  const params = new Parameters(withCredential(litellm_params, source.credentials, about));
  const model = params.takeText("model") ?? "";
  const split = splitModel(model, params.take("custom_llm_provider"));
  const baseModel = textOf(model_info.base_model);
  const kind = kindOf(model_info.mode, model, baseModel, split?.provider);
  const refusal = isBlocked ? "not imported: the model is blocked" : refusalOf(model_info, model);
  if (kind === undefined || refusal !== undefined) {
    about.dropped("", refusal ?? notServed(model_info.mode, model));
    return undefined;
  }
  if (!split) {
    about.dropped("model", `"${model}" has no provider: write it as PROVIDER/${model}`);
    return undefined;
  }
  const order = orderOf(params, about);
  if (!order || isShortened(kind, params, baseModel ?? split.name, about)) return undefined;
  const upstream = planUpstream(split.provider, params, about);
  if (!upstream) return undefined;
  about.carried("model", `${split.name} at ${upstream.kind}`);
  const limits = deploymentLimits(params, about);
  const { price, isKnown } = planPrice(
    {
      kind,
      name: split.name,
      baseModel,
      upstreamKind: upstream.kind,
      providerKind: providers[split.provider]?.kind ?? upstream.kind,
    },
    params,
    model_info,
    about,
  );
  const planned = {
    kind,
    upstreamKind: upstream.kind,
    target: {
      // A limit of a target counts for one model, a limit of an upstream for all.
      upstream: addUpstream(upstreams, isShared ? { ...upstream, ...limits } : upstream, about),
      model: split.name,
      ...order,
      ...(!isShared && limits),
      ...(price && { price }),
    },
    space: spaceOf(split.name, upstream.kind, baseModel),
    dropsParameters: kind === "image" && dropsParameters(params, source, about),
    dimensions: numberOf(params, "dimensions", about),
    timeout: numberOf(params, "timeout", about),
    hasPrice: isKnown,
  };
  reportRest(params, model_info, about);
  return planned;
}

const deploymentLimits = (params: Parameters, report: SubjectReport) =>
  limitsOf(
    {
      requestsPerMinute: ["rpm", params.take("rpm")],
      tokensPerMinute: ["tpm", params.take("tpm")],
      concurrent: ["max_parallel_requests", params.take("max_parallel_requests")],
    },
    report,
  );

function addUpstream(
  upstreams: Upstreams,
  upstream: JsonObject & { readonly kind: string },
  report: SubjectReport,
): string {
  const before = upstreams.all.size;
  const id = upstreams.add(upstream);
  if (upstream.limits === undefined) return id;
  if (upstreams.all.size === before)
    report.approximated("limits", `shared with the other entries of the upstream ${id}`);
  else report.carried("limits", `of the upstream ${id}, because the model has an alias`);
  return id;
}

/** Why LiteLLM's entry is no model of Vexel. */
function refusalOf({ team_id }: JsonObject, model: string): string | undefined {
  if (team_id) return `not imported: only the team ${JSON.stringify(team_id)} may use it`;
  return model.includes("*")
    ? `not imported: "${model}" stands for all models of a provider. Add an entry for each embedding and image model`
    : undefined;
}

function kindOf(
  mode: unknown,
  model: string,
  baseModel: string | undefined,
  provider = "",
): ModelKind | undefined {
  if (mode === "embedding") return "embedding";
  if (mode === "image_generation" || mode === "image_edit") return "image";
  if (mode !== undefined && mode !== null) return undefined;
  const kind = Object.hasOwn(providers, provider) ? providers[provider]?.kind : undefined;
  return (
    guessModelKind(model, kind ?? "") ??
    (baseModel === undefined ? undefined : guessModelKind(baseModel, kind ?? ""))
  );
}

const notServed = (mode: unknown, model: string): string =>
  mode === undefined || mode === null
    ? `not served: "${model}" is no embedding or image model that Vexel knows. If it is one, set model_info.mode`
    : `not served: its mode is ${mode}, and Vexel serves embeddings and images`;

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

const usedInfo = new Set([
  "id",
  "mode",
  "base_model",
  "access_groups",
  "db_model",
  "created_at",
  "created_by",
  "updated_at",
  "updated_by",
  "input_cost_per_token",
  "output_cost_per_image",
  "input_cost_per_image",
  "output_cost_per_pixel",
  "input_cost_per_pixel",
]);

function reportRest(params: Parameters, info: JsonObject, report: SubjectReport): void {
  for (const name of params.left)
    report.dropped(`litellm_params.${name}`, "Vexel has no such parameter of a target");
  for (const [name, value] of Object.entries(info)) {
    if (usedInfo.has(name) || value === null) continue;
    report.dropped(`model_info.${name}`, "Vexel takes facts about models from its catalog");
  }
}
