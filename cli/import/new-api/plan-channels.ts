/** Upstreams, models and targets from the channels of new-api. */
import type { JsonObject } from "../../../server/storage/ports/config-entity-store.ts";
import { vectorSpaceOf } from "../../../server/upstream/catalog/index.ts";
import { guessModelKind } from "../../../server/upstream/catalog/served-models.ts";
import { Secret, type Upstreams } from "../plan.ts";
import type { Report, SubjectReport } from "../report.ts";
import { channelTypes } from "./channel-types.ts";

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
  if (Number(channel.status ?? 1) !== 1) {
    about.dropped("", "not imported: the channel is disabled");
    return [];
  }
  if (!type) {
    about.dropped("type", `Vexel has no kind for type ${channel.type} (${names.length} models)`);
    return [];
  }
  const mapping = mappingOf(channel.model_mapping, about);
  const served = names.flatMap((model) => {
    const upstreamModel = mapping.get(model) ?? model;
    const kind = guessModelKind(upstreamModel, type.kind) ?? guessModelKind(model, type.kind);
    return kind === undefined ? [] : [{ model, upstreamModel, kind }];
  });
  const others = names.filter((name) => !served.some(({ model }) => model === name));
  if (others.length > 0) about.dropped("models", `not served: ${others.join(", ")}`);
  if (served.length === 0) return [];
  reportRest(channel, about);
  const kind = kindOf(type.kind, channel);
  const ids = keysOf(channel).flatMap((key) => {
    const upstream = upstreamOf(kind, type.path ?? "", key, channel, about);
    return upstream ? [upstreams.add(upstream)] : [];
  });
  about.carried(
    "",
    `${served.length} models at ${kind}, ${ids.length} ${ids.length === 1 ? "credential" : "credentials"}`,
  );
  return ids.flatMap((upstream) =>
    served.map((entry) => ({
      ...entry,
      upstream,
      upstreamKind: kind,
      priority: Number(channel.priority ?? 0),
      weight: Number(channel.weight ?? 0),
    })),
  );
}

const kindOf = (kind: string, { base_url }: JsonObject): string =>
  kind === "openai" && base_url && !String(base_url).startsWith("https://api.openai.com")
    ? "openai-compatible"
    : kind;

/** A channel may have several credentials, one in each line. */
const keysOf = ({ key, channel_info }: JsonObject): readonly string[] => {
  const text = String(key ?? "");
  const info = typeof channel_info === "string" ? channel_info : JSON.stringify(channel_info ?? {});
  if (!/"is_multi_key":\s*true/.test(info)) return [text.trim()];
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
};

type Upstream = JsonObject & { readonly kind: string };

function upstreamOf(
  kind: string,
  path: string,
  key: string,
  channel: JsonObject,
  report: SubjectReport,
): Upstream | undefined {
  if (kind === "bedrock") return bedrockOf(key, report);
  if (kind === "vertex")
    return { kind, serviceAccount: Secret.ofText(key), location: locationOf(channel.other) };
  if (key === "" && !keyless.has(kind)) {
    report.dropped("key", "the channel has none");
    return undefined;
  }
  const organization = channel.openai_organization;
  return {
    kind,
    ...baseUrlOf(channel.base_url, path),
    ...(organization ? { headers: { "OpenAI-Organization": String(organization) } } : {}),
    ...(key !== "" && { apiKey: Secret.ofText(key) }),
    ...otherOf(kind, channel.other),
  };
}

/** Servers that may have no credential. */
const keyless = new Set(["ollama", "xinference"]);

function baseUrlOf(given: unknown, path: string): { baseUrl?: string } {
  const base = typeof given === "string" ? given.replace(/\/+$/, "") : "";
  if (base === "") return {};
  return { baseUrl: base.endsWith(path) ? base : `${base}${path}` };
}

/** The column `other` has a meaning of its own for each type. */
function otherOf(kind: string, other: unknown): JsonObject {
  if (!other) return {};
  if (kind === "azure") return { apiVersion: String(other) };
  return kind === "cloudflare" ? { accountId: String(other) } : {};
}

/** `ACCESS_KEY|SECRET|REGION`, or `API_KEY|REGION`. */
function bedrockOf(key: string, report: SubjectReport): Upstream | undefined {
  const parts = key.split("|");
  const region = parts.at(-1) ?? "";
  const [first = "", second = ""] = parts.map((part) => Secret.ofText(part));
  if (parts.length === 3)
    return { kind: "bedrock", region, accessKeyId: first, secretAccessKey: second };
  if (parts.length === 2) return { kind: "bedrock", region, apiKey: first };
  report.dropped("key", "it has no region");
  return undefined;
}

/** new-api has a region, or a JSON object with the region of each model and a default. */
function locationOf(other: unknown): string {
  const text = String(other ?? "").trim();
  if (!text.startsWith("{")) return text || "global";
  try {
    return String((JSON.parse(text) as JsonObject).default ?? "global");
  } catch {
    return "global";
  }
}

function mappingOf(given: unknown, report: SubjectReport): ReadonlyMap<string, string> {
  if (typeof given !== "string" || given.trim() === "") return new Map();
  try {
    const entries = Object.entries(JSON.parse(given) as JsonObject);
    if (entries.length > 0) report.carried("model_mapping", "the model of each target");
    return new Map(entries.map(([name, target]) => [name, String(target)]));
  } catch {
    report.dropped("model_mapping", "it is not valid JSON");
    return new Map();
  }
}

function joinTargets(
  targets: readonly PlannedTarget[],
  report: SubjectReport,
): JsonObject | undefined {
  const [first] = targets;
  if (!first) return undefined;
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
  if (channel.group && channel.group !== "default")
    report.dropped("group", "Vexel has no groups: restrict keys by their models");
}
