/** Upstreams, models and targets from the channels of new-api. */
import { commaList } from "../../../server/lib/comma-list.ts";
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { vectorSpaceOf } from "../../../server/upstream/catalog/index.ts";
import { guessModelKind } from "../../../server/upstream/catalog/served-models.ts";
import { type PlannedPrice, type PricedModel, planListPrice } from "../list-price.ts";
import { isModelName, type Upstreams } from "../plan.ts";
import type { Report, SubjectReport } from "../report.ts";
import { channelLosses, isRefusedThere, unpricedLoss } from "./channel-losses.ts";
import { channelTypes } from "./channel-types.ts";
import { keysOf, upstreamOf } from "./plan-upstream.ts";
import type { PlannedTarget } from "./planned-target.ts";
import type { NewApiSource } from "./read.ts";
import { numberOf } from "./values.ts";

export interface PlannedChannels {
  readonly models: Map<string, JsonObject>;
  /** The groups that may use each model. */
  readonly groups: ReadonlyMap<string, ReadonlySet<string>>;
  /** Names of models with a target whose price is not known. */
  readonly unpriced: ReadonlySet<string>;
}

export function planChannels(
  source: Pick<NewApiSource, "channels" | "ratios" | "prices" | "options">,
  upstreams: Upstreams,
  report: Report,
): PlannedChannels {
  const targets = source.channels.flatMap((channel) =>
    planChannel(channel, source, upstreams, report),
  );
  const models = new Map<string, JsonObject>();
  const groups = new Map<string, ReadonlySet<string>>();
  const unpriced = new Set<string>();
  for (const [id, own] of Map.groupBy(targets, ({ model }) => model)) {
    const about = report.about(`model ${JSON.stringify(id)}`);
    if (!about.lost(channelLosses(own))) continue;
    if (isRefusedThere(id, own, source) && !about.lost(unpricedLoss)) continue;
    const model = joinTargets(own, about);
    if (!model) continue;
    models.set(id, model);
    groups.set(id, new Set(own.flatMap((target) => target.groups)));
    if (own.some(({ planned }) => !planned.isKnown)) unpriced.add(id);
  }
  return { models, groups, unpriced };
}

function planChannel(
  channel: JsonObject,
  prices: Pick<NewApiSource, "ratios" | "prices">,
  upstreams: Upstreams,
  report: Report,
): PlannedTarget[] {
  const about = report.about(`channel ${JSON.stringify(String(channel.name ?? channel.id))}`);
  const type = channelTypes[Number(channel.type)];
  const names = commaList(String(channel.models ?? ""));
  const refused = refusalOf(channel);
  if (refused !== undefined) {
    about.refused(refused);
    return [];
  }
  if (!type) {
    about.dropped("type", `Vexel has no kind for type ${channel.type} (${names.length} models)`);
    return [];
  }
  const mapping = mappingOf(channel.model_mapping, about);
  if (!mapping) return [];
  const overrides = hasOverrides(channel);
  if (overrides)
    about.refused(
      "its param_override changes requests for embeddings, and their vectors. Its image models are imported",
    );
  const served = names.flatMap((model) => {
    const upstreamModel = lastOf(mapping, model);
    if (upstreamModel === undefined) return [];
    const kind = guessModelKind(upstreamModel, type.kind) ?? guessModelKind(model, type.kind);
    if (kind === undefined || !isModelName(model)) return [];
    return kind === "embedding" && overrides ? [] : [{ model, upstreamModel, kind }];
  });
  const others = names.filter((name) => !served.some(({ model }) => model === name));
  if (others.length > 0) about.dropped("models", `not served: ${others.join(", ")}`);
  if (served.length === 0) return [];
  reportRest(channel, about);
  const kind = kindOf(type.kind, channel);
  const ids = keysOf(channel, about).flatMap((key) => {
    const upstream = upstreamOf(kind, type.path ?? "", key, channel, about);
    return upstream ? [upstreams.add(upstream)] : [];
  });
  if (ids.length === 0) {
    about.refused("it has no credential and address that Vexel can use");
    return [];
  }
  about.carried(
    "",
    `${served.length} models at ${kind}, ${ids.length} ${ids.length === 1 ? "credential" : "credentials"}`,
  );
  const priority = Number(channel.priority ?? 0);
  const weight = Number(channel.weight ?? 0);
  reportOrder(priority, weight, ids.length, about);
  const groups = groupsOf(channel.group);
  const priced = served.map((entry) => ({
    ...entry,
    planned: priceOf(entry, { upstreamKind: kind, providerKind: type.kind }, prices, about),
  }));
  return ids.flatMap((upstream) =>
    priced.map((entry) => ({ ...entry, upstream, upstreamKind: kind, priority, weight, groups })),
  );
}

/** Groups are separated by commas. */
export const groupsOf = (given: unknown): readonly string[] =>
  commaList(String(given || "default"));

/** The price of the site: a ratio of 1 is 2 US dollars per million tokens. Or else the list price. */
function priceOf(
  { model, upstreamModel, kind }: Pick<PlannedTarget, "model" | "upstreamModel" | "kind">,
  kinds: Pick<PricedModel, "upstreamKind" | "providerKind">,
  { ratios, prices }: Pick<NewApiSource, "ratios" | "prices">,
  report: SubjectReport,
): PlannedPrice {
  const ratio = ratios.get(model);
  if (kind === "embedding" && ratio !== undefined) {
    const input = Number((ratio * 2).toPrecision(12));
    report.carried(`ModelRatio.${model}`, `price.input: ${input}`);
    return { price: { input }, isKnown: true };
  }
  const image = prices.get(model);
  if (kind === "image" && image !== undefined) {
    report.carried(`ModelPrice.${model}`, `price.image: ${image}`);
    return { price: { image }, isKnown: true };
  }
  return planListPrice({ kind, name: upstreamModel, baseModel: undefined, ...kinds }, report);
}

/** Why a channel gives no upstream. */
function refusalOf(channel: JsonObject): string | undefined {
  const field = ["status", "priority", "weight"].find(
    (name) => numberOf(channel[name], 0) === undefined,
  );
  if (field !== undefined) return `its ${field} is not a number: "${channel[field]}"`;
  return numberOf(channel.status, 1) === 1 ? undefined : "the channel is disabled";
}

/** new-api adds or changes parameters of every request. */
const hasOverrides = ({ param_override }: JsonObject): boolean =>
  typeof param_override === "string" && !/^\s*(?:\{\s*\}|null)?\s*$/.test(param_override);

function reportOrder(
  priority: number,
  weight: number,
  credentials: number,
  report: SubjectReport,
): void {
  if (priority !== 0)
    report.carried("priority", "the tier of its targets: a higher priority is a lower tier");
  if (weight <= 0) return;
  if (credentials === 1) report.carried("weight", `weight: ${weight} of its targets`);
  else
    report.approximated(
      "weight",
      `weight: ${weight} of each of its ${credentials} credentials, which new-api counts once`,
    );
}

const kindOf = (kind: string, { base_url }: JsonObject): string =>
  kind === "openai" && base_url && !String(base_url).startsWith("https://api.openai.com")
    ? "openai-compatible"
    : kind;

/** Undefined if it cannot be read, which was reported. Without it, a name would stand for another model. */
function mappingOf(given: unknown, report: SubjectReport): ReadonlyMap<string, string> | undefined {
  if (typeof given !== "string" || given.trim() === "") return new Map();
  try {
    const entries = Object.entries(JSON.parse(given) as JsonObject);
    if (entries.length > 0) report.carried("model_mapping", "the model of each target");
    return new Map(entries.map(([name, target]) => [name, String(target)]));
  } catch {
    report.dropped("model_mapping", "not imported: it is not valid JSON");
    return undefined;
  }
}

/** new-api maps the mapped name again, until a name is not mapped. Undefined if it never ends. */
function lastOf(mapping: ReadonlyMap<string, string>, model: string): string | undefined {
  const seen = new Set([model]);
  let current = model;
  for (;;) {
    const next = mapping.get(current);
    if (!next || next === current) return current;
    if (seen.has(next)) return undefined;
    seen.add(next);
    current = next;
  }
}

function joinTargets(all: readonly PlannedTarget[], report: SubjectReport): JsonObject | undefined {
  const [first] = all;
  if (!first) return undefined;
  const targets = all.filter(({ kind }) => kind === first.kind);
  if (targets.length < all.length)
    report.dropped(
      "",
      `the channels are for embeddings and for images; only the ${targets.length} for ${first.kind}s are imported`,
    );
  const spaces = new Set(
    targets.map((target) => vectorSpaceOf(target.upstreamModel, target.upstreamKind)),
  );
  if (first.kind === "embedding" && spaces.size > 1) {
    const names = [...new Set(targets.map(({ upstreamModel }) => upstreamModel))].join(", ");
    report.refused(
      `its channels have different models (${names}), whose vectors cannot be compared. An index that was filled through this name may hold vectors of several models`,
    );
    return undefined;
  }
  const priorities = [...new Set(targets.map(({ priority }) => priority))].sort((a, b) => b - a);
  report.carried(
    "",
    `${first.kind} model with ${targets.length} ${targets.length === 1 ? "target" : "targets"}`,
  );
  return {
    kind: first.kind,
    targets: targets.map(({ upstream, upstreamModel, priority, weight, planned }) => ({
      upstream,
      model: upstreamModel,
      ...(targets.length > 1 && { tier: priorities.indexOf(priority) }),
      ...(weight > 0 && { weight }),
      ...(planned.price && { price: planned.price }),
    })),
  };
}

const unused: Readonly<Record<string, string>> = {
  param_override: "Vexel adapts parameters by the capabilities of a target",
  header_override: "set headers of the upstream instead",
  status_code_mapping: "Vexel maps errors to OpenAI's",
  setting: "Vexel has no such settings of an upstream",
  settings: "Vexel has no such settings of an upstream",
  tag: "Vexel has no tags of upstreams",
};

function reportRest(channel: JsonObject, report: SubjectReport): void {
  for (const [field, reason] of Object.entries(unused)) {
    const value = channel[field];
    if (typeof value === "string" && value !== "" && value !== "{}") report.dropped(field, reason);
  }
  if (channel.auto_ban !== null && channel.auto_ban !== undefined)
    report.dropped(
      "auto_ban",
      "the circuit breaker of Vexel ejects each target that fails, and uses it again when it works",
    );
  if (channel.group && channel.group !== "default")
    report.approximated("group", "the keys of its groups may use its models");
  for (const [field, value] of Object.entries(channel))
    if (!usedColumns.has(field) && !Object.hasOwn(unused, field) && value && value !== "{}")
      report.dropped(field, "Vexel has no such field");
}

/** Columns that are imported, or that new-api has measured. */
const usedColumns: ReadonlySet<string> = new Set([
  "id",
  "type",
  "key",
  "openai_organization",
  "test_model",
  "status",
  "name",
  "weight",
  "created_time",
  "test_time",
  "response_time",
  "base_url",
  "other",
  "balance",
  "balance_updated_time",
  "models",
  "group",
  "used_quota",
  "model_mapping",
  "priority",
  "auto_ban",
  "other_info",
  "channel_info",
]);
