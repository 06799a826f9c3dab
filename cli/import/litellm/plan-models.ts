/** Models and targets from LiteLLM's model list. Several entries with one name become the targets of one model. */
import type { JsonObject } from "../../../server/storage/ports/config-entity-store.ts";
import { vectorSpaceOf } from "../../../server/upstream/catalog/index.ts";
import { guessModelKind } from "../../../server/upstream/catalog/served-models.ts";
import { limitsOf } from "../limits.ts";
import type { Upstreams } from "../plan.ts";
import type { Report, SubjectReport } from "../report.ts";
import { Parameters, planUpstream } from "./plan-upstream.ts";
import { providers, splitModel } from "./providers.ts";
import { type LitellmModel, type LitellmSource, listOf, objectOf } from "./source.ts";

type ModelKind = "embedding" | "image";

interface PlannedTarget {
  readonly kind: ModelKind;
  readonly target: JsonObject & { readonly upstream: string; readonly model: string };
  readonly upstreamKind: string;
  /** What the operator says the deployment is. */
  readonly baseModel: string | undefined;
  readonly dimensions: number | undefined;
  readonly timeout: number | undefined;
}

export function planModels(
  source: LitellmSource,
  upstreams: Upstreams,
  report: Report,
): Map<string, JsonObject> {
  const models = new Map<string, JsonObject>();
  const byName = Map.groupBy(source.models, ({ model_name }) => model_name);
  for (const [name, entries] of byName) {
    const about = report.about(`model ${JSON.stringify(name)}`);
    const targets = entries.flatMap((entry) => planTarget(entry, source, upstreams, report) ?? []);
    const model = joinTargets(name, targets, about);
    if (model) models.set(name, model);
  }
  addAliases(source.routerSettings, models, report);
  return models;
}

function joinTargets(
  name: string,
  targets: readonly PlannedTarget[],
  report: SubjectReport,
): JsonObject | undefined {
  const [first] = targets;
  if (!first) return undefined;
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
  const isOneDeployment =
    first.baseModel !== undefined && own.every(({ baseModel }) => baseModel === first.baseModel);
  if (first.kind === "embedding" && !isOneDeployment && isMixed(own)) {
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
    ...(isOneDeployment && isMixed(own) && { sameSpace: true }),
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

const spaceOf = ({ target, upstreamKind }: PlannedTarget): string =>
  vectorSpaceOf(target.model, upstreamKind);

const isMixed = (targets: readonly PlannedTarget[]): boolean =>
  new Set(targets.map(spaceOf)).size > 1;

const describeMixture = (targets: readonly PlannedTarget[]): string => {
  const names = [...new Set(targets.map(({ target }) => target.model))].join(", ");
  return (
    `its entries are different models (${names}), whose vectors cannot be compared. LiteLLM sends each request to any of them, ` +
    "so an index that was filled through this name may hold vectors of several models. Import one of them, under a name of its own"
  );
};

/** Undefined: the entry is not served by Vexel, which was reported. */
function planTarget(
  { model_name, litellm_params, model_info, where }: LitellmModel,
  { credentials }: LitellmSource,
  upstreams: Upstreams,
  report: Report,
): PlannedTarget | undefined {
  const about = report.about(`model ${JSON.stringify(model_name)} (${where})`);
  const params = new Parameters(withCredential(litellm_params, credentials));
  const model = params.takeText("model") ?? "";
  const split = splitModel(model, params.take("custom_llm_provider"));
  const kind = kindOf(model_info.mode, model, split?.provider);
  if (kind === undefined) {
    about.dropped("", notServed(model_info.mode, model));
    return undefined;
  }
  if (!split) {
    about.dropped("model", `"${model}" has no provider: write it as PROVIDER/${model}`);
    return undefined;
  }
  if (split.name.includes("*")) {
    about.dropped("model", `"${model}" is a wildcard: Vexel has a target for each model`);
    return undefined;
  }
  const upstream = planUpstream(split.provider, params, about);
  if (!upstream) return undefined;
  about.carried("model", `${split.name} at ${upstream.kind}`);
  const planned = {
    kind,
    upstreamKind: upstream.kind,
    target: {
      upstream: upstreams.add(upstream),
      model: split.name,
      ...orderOf(params, about),
      ...limitsOf(
        {
          requestsPerMinute: ["rpm", params.take("rpm")],
          tokensPerMinute: ["tpm", params.take("tpm")],
          concurrent: ["max_parallel_requests", params.take("max_parallel_requests")],
        },
        about,
      ),
      ...priceOf(kind, params, model_info, about),
    },
    baseModel: textOf(model_info.base_model),
    dimensions: numberOf(params, "dimensions", about),
    timeout: numberOf(params, "timeout", about),
  };
  reportRest(params, model_info, about);
  return planned;
}

const withCredential = (
  { litellm_credential_name: name, ...params }: JsonObject,
  credentials: LitellmSource["credentials"],
): JsonObject =>
  name === undefined || name === null ? params : { ...credentials.get(String(name)), ...params };

function kindOf(mode: unknown, model: string, provider = ""): ModelKind | undefined {
  if (mode === "embedding") return "embedding";
  if (mode === "image_generation" || mode === "image_edit") return "image";
  if (mode !== undefined && mode !== null) return undefined;
  const kind = Object.hasOwn(providers, provider) ? providers[provider]?.kind : undefined;
  return guessModelKind(model, kind ?? "");
}

const notServed = (mode: unknown, model: string): string =>
  mode === undefined || mode === null
    ? `not served: "${model}" is no embedding or image model that Vexel knows. If it is one, set model_info.mode`
    : `not served: its mode is ${mode}, and Vexel serves embeddings and images`;

function orderOf(params: Parameters, report: SubjectReport): JsonObject {
  const weight = Number(params.take("weight") ?? Number.NaN);
  const order = Number(params.take("order") ?? Number.NaN);
  if (weight > 0) report.carried("weight", `weight: ${weight}`);
  if (Number.isInteger(order)) report.carried("order", `tier: ${order}`);
  return { ...(weight > 0 && { weight }), ...(Number.isInteger(order) && { tier: order }) };
}

/** Prices of LiteLLM are in US dollars for one token, one image or one pixel. */
function priceOf(
  kind: ModelKind,
  params: Parameters,
  info: JsonObject,
  report: SubjectReport,
): { price?: JsonObject } {
  const take = (name: string): number | undefined => {
    const value = Number(params.take(name) ?? info[name] ?? Number.NaN);
    return value >= 0 ? value : undefined;
  };
  const perToken = take("input_cost_per_token");
  const perImage = take("output_cost_per_image") ?? take("input_cost_per_image");
  const perPixel = take("output_cost_per_pixel") ?? take("input_cost_per_pixel");
  const million = (value: number): number => Number((value * 1e6).toPrecision(12));
  if (kind === "embedding") {
    if (perToken === undefined) return {};
    report.carried("input_cost_per_token", `price.input: ${million(perToken)}`);
    return { price: { input: million(perToken) } };
  }
  if (perToken !== undefined)
    report.dropped("input_cost_per_token", "the price of images by tokens is Vexel's list price");
  if (perImage === undefined && perPixel === undefined) return {};
  report.carried("output_cost_per_image, output_cost_per_pixel", "price");
  return {
    price: {
      ...(perImage !== undefined && { image: perImage }),
      ...(perPixel !== undefined && { megapixel: million(perPixel) }),
    },
  };
}

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

function numberOf(params: Parameters, name: string, report: SubjectReport): number | undefined {
  const value = params.take(name);
  if (value === undefined) return undefined;
  const number = Number(value);
  if (Number.isFinite(number) && number >= 1) {
    report.carried(name, `${name}: ${number}`);
    return number;
  }
  report.dropped(name, `"${value}" is not a number from 1`);
  return undefined;
}

const usedInfo = new Set([
  "id",
  "mode",
  "base_model",
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

/** `model_group_alias` gives a model further names. */
function addAliases(settings: JsonObject, models: Map<string, JsonObject>, report: Report): void {
  const about = report.about("router_settings");
  const { model_group_alias, fallbacks, ...others } = settings;
  for (const [alias, named] of Object.entries(objectOf(model_group_alias))) {
    const name = typeof named === "string" ? named : String(objectOf(named).model);
    const model = models.get(name);
    if (model && !models.has(alias)) {
      models.set(alias, model);
      about.carried(`model_group_alias.${alias}`, `a model with the targets of "${name}"`);
    } else {
      about.dropped(`model_group_alias.${alias}`, `"${name}" was not imported`);
    }
  }
  for (const entry of listOf(fallbacks))
    for (const [from, to] of Object.entries(objectOf(entry))) {
      const isEmbedding = models.get(from)?.kind === "embedding";
      about.dropped(
        `fallbacks.${from}`,
        isEmbedding
          ? `refused: the vectors of ${JSON.stringify(to)} cannot be compared with those of "${from}"`
          : `add the targets of ${JSON.stringify(to)} to "${from}", with a higher tier`,
      );
    }
  for (const name of Object.keys(others))
    about.dropped(name, "Vexel balances, retries and fails over by its own rules");
}
