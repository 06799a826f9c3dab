/** Upstreams, models and targets from the channels of new-api. */
import type { JsonObject } from "../../../server/storage/ports/config-entity-store.ts";
import { vectorSpaceOf } from "../../../server/upstream/catalog/index.ts";
import { guessModelKind } from "../../../server/upstream/catalog/served-models.ts";
import type { Upstreams } from "../plan.ts";
import type { Report, SubjectReport } from "../report.ts";
import { channelTypes } from "./channel-types.ts";
import { keysOf, upstreamOf } from "./plan-upstream.ts";
import { numberOf } from "./values.ts";

interface PlannedTarget {
  readonly model: string;
  readonly kind: "embedding" | "image";
  readonly upstream: string;
  readonly upstreamKind: string;
  readonly upstreamModel: string;
  readonly priority: number;
  readonly weight: number;
}

export function planChannels(
  channels: readonly JsonObject[],
  upstreams: Upstreams,
  report: Report,
): Map<string, JsonObject> {
  const targets = channels.flatMap((channel) => planChannel(channel, upstreams, report));
  const models = new Map<string, JsonObject>();
  for (const [id, own] of Map.groupBy(targets, ({ model }) => model)) {
    const about = report.about(`model ${JSON.stringify(id)}`);
    const model = joinTargets(own, about);
    if (model) models.set(id, model);
  }
  return models;
}

function planChannel(channel: JsonObject, upstreams: Upstreams, report: Report): PlannedTarget[] {
  const about = report.about(`channel ${JSON.stringify(String(channel.name ?? channel.id))}`);
  const type = channelTypes[Number(channel.type)];
  const names = String(channel.models ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
  const refused = refusalOf(channel);
  if (refused !== undefined) {
    about.dropped("", `not imported: ${refused}`);
    return [];
  }
  if (!type) {
    about.dropped("type", `Vexel has no kind for type ${channel.type} (${names.length} models)`);
    return [];
  }
  const mapping = mappingOf(channel.model_mapping, about);
  if (!mapping) return [];
  const served = names.flatMap((model) => {
    const upstreamModel = lastOf(mapping, model);
    if (upstreamModel === undefined) return [];
    const kind = guessModelKind(upstreamModel, type.kind) ?? guessModelKind(model, type.kind);
    return kind === undefined ? [] : [{ model, upstreamModel, kind }];
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
    about.dropped("", "not imported: it has no credential and address that Vexel can use");
    return [];
  }
  about.carried(
    "",
    `${served.length} models at ${kind}, ${ids.length} ${ids.length === 1 ? "credential" : "credentials"}`,
  );
  const priority = Number(channel.priority ?? 0);
  const weight = Number(channel.weight ?? 0);
  reportOrder(priority, weight, ids.length, about);
  return ids.flatMap((upstream) =>
    served.map((entry) => ({ ...entry, upstream, upstreamKind: kind, priority, weight })),
  );
}

/** Why a channel gives no upstream. */
function refusalOf(channel: JsonObject): string | undefined {
  const field = ["status", "priority", "weight"].find(
    (name) => numberOf(channel[name], 0) === undefined,
  );
  if (field !== undefined) return `its ${field} is not a number: "${channel[field]}"`;
  return numberOf(channel.status, 1) === 1 ? undefined : "the channel is disabled";
}

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

/** Undefined: it cannot be read, which was reported. Without it, a name would stand for another model. */
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

/** new-api maps the mapped name again, until a name is not mapped. Undefined: it never ends. */
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
    report.dropped(
      "",
      `refused: its channels have different models (${names}), whose vectors cannot be compared. An index that was filled through this name may hold vectors of several models`,
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
    targets: targets.map(({ upstream, upstreamModel, priority, weight }) => ({
      upstream,
      model: upstreamModel,
      ...(targets.length > 1 && { tier: priorities.indexOf(priority) }),
      ...(weight > 0 && { weight }),
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
    report.dropped("group", "Vexel has no groups: restrict keys by their models");
}
