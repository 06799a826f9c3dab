/** The target of one entry of LiteLLM's model list. */

import type { ModelKind } from "../../../contract/model-kinds.ts";
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { vectorSpaceOf } from "../../../server/upstream/catalog/index.ts";
import { guessModelKind } from "../../../server/upstream/catalog/served-models.ts";
import { limitsOf } from "../limits.ts";
import type { Upstreams } from "../plan.ts";
import type { Report, SubjectReport } from "../report.ts";
import {
  dropsParameters,
  isShortened,
  numberOf,
  orderOf,
  withCredential,
} from "./entry-options.ts";
import { changesVectors, protectedParameters } from "./model-losses.ts";
import { planPrice } from "./plan-price.ts";
import { Parameters, planUpstream } from "./plan-upstream.ts";
import { providers, splitModel } from "./providers.ts";
import type { LitellmModel, LitellmSource } from "./source.ts";

export interface PlannedTarget {
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

interface TargetContext {
  readonly source: LitellmSource;
  readonly upstreams: Upstreams;
  readonly report: Report;
  /** Several models have the target. */
  readonly isShared: boolean;
}

/** Undefined if the entry is not served by Vexel, which was reported. */
export function planTarget(
  { model_name, litellm_params, model_info, where, isBlocked }: LitellmModel,
  { source, upstreams, report, isShared }: TargetContext,
): PlannedTarget | undefined {
  const about = report.about(`model ${JSON.stringify(model_name)} (${where})`);
  const params = new Parameters(withCredential(litellm_params, source.credentials, about));
  const model = params.takeText("model") ?? "";
  const split = splitModel(model, params.take("custom_llm_provider"));
  const baseModel = textOf(model_info.base_model);
  const kind = kindOf(model_info.mode, model, baseModel, split?.provider);
  if (!isServed(kind, model, { model_info, isBlocked }, about)) return undefined;
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
  if (kind === "embedding" && changesVectors(params, about)) return undefined;
  // Reported for the model as a whole.
  for (const name of protectedParameters) params.take(name);
  reportRest(params, model_info, about);
  return planned;
}

function isServed(
  kind: ModelKind | undefined,
  model: string,
  { model_info, isBlocked }: { model_info: JsonObject; isBlocked: boolean | undefined },
  report: SubjectReport,
): kind is ModelKind {
  const refusal = isBlocked ? "the model is blocked" : refusalOf(model_info, model);
  if (refusal !== undefined) report.refused(refusal);
  // Most entries are for chat: they are no refusals.
  else if (kind === undefined) report.dropped("", notServed(model_info.mode, model));
  return refusal === undefined && kind !== undefined;
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
  if (team_id) return `only the team ${JSON.stringify(team_id)} may use it`;
  return model.includes("*")
    ? `"${model}" stands for all models of a provider. Add an entry for each embedding and image model`
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

const spaceOf = (model: string, kind: string, baseModel: string | undefined): string =>
  baseModel === undefined
    ? vectorSpaceOf(model, kind)
    : vectorSpaceOf(splitModel(baseModel, undefined)?.name ?? baseModel);

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
  "supported_environments",
  "access_windows",
  "enable_tag_filtering",
]);

function reportRest(params: Parameters, info: JsonObject, report: SubjectReport): void {
  for (const name of params.left)
    report.dropped(`litellm_params.${name}`, "Vexel has no such parameter of a target");
  for (const [name, value] of Object.entries(info)) {
    if (usedInfo.has(name) || value === null) continue;
    report.dropped(`model_info.${name}`, "Vexel takes facts about models from its catalog");
  }
}
