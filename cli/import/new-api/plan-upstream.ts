/** Upstreams from the credentials and the address of a channel of new-api. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { Secret } from "../plan.ts";
import type { SubjectReport } from "../report.ts";
import { numberOf } from "./values.ts";

/** The credentials that new-api uses: a channel may have several, and some may be disabled. */
export function keysOf(
  { key, channel_info }: JsonObject,
  report: SubjectReport,
): readonly string[] {
  const text = String(key ?? "").trim();
  const { is_multi_key, multi_key_status_list } = objectIn(channel_info);
  const list = text.startsWith("[") ? listIn(text) : undefined;
  if (is_multi_key !== true) return list ?? [text];
  const statuses = (multi_key_status_list ?? {}) as JsonObject;
  const keys = list ?? text.split("\n").map((line) => line.trim());
  const isEnabled = (at: number): boolean => numberOf(statuses[at], 1) === 1;
  const disabled = keys.filter((_, at) => !isEnabled(at)).length;
  if (disabled > 0) report.dropped("key", `${disabled} of ${keys.length} keys are disabled`);
  return keys.filter((own, at) => own !== "" && isEnabled(at));
}

function objectIn(given: unknown): JsonObject {
  try {
    const value: unknown = typeof given === "string" ? JSON.parse(given) : given;
    return typeof value === "object" && value !== null ? (value as JsonObject) : {};
  } catch {
    return {};
  }
}

/** new-api has several service accounts as a JSON array. Undefined if the text is none. */
function listIn(text: string): readonly string[] | undefined {
  const value = objectIn(text);
  if (!Array.isArray(value)) return undefined;
  return value.map((entry) => (typeof entry === "string" ? entry : JSON.stringify(entry)));
}

type Upstream = JsonObject & { readonly kind: string };

export function upstreamOf(
  kind: string,
  path: string,
  key: string,
  channel: JsonObject,
  report: SubjectReport,
): Upstream | undefined {
  if (kind === "bedrock") return bedrockOf(key, report);
  if (kind === "vertex") return vertexOf(key, channel, report);
  if (key === "" && !keyless.has(kind)) {
    report.dropped("key", "the channel has none");
    return undefined;
  }
  const address = addressOf(kind, path, channel, report);
  if (!address) return undefined;
  const organization = channel.openai_organization;
  return {
    kind,
    ...address,
    ...(organization ? { headers: { "OpenAI-Organization": String(organization) } } : {}),
    ...(key !== "" && { apiKey: Secret.ofText(key) }),
    ...otherOf(kind, channel.other),
  };
}

/** Servers that may have no credential. */
const keyless = new Set(["ollama", "xinference"]);

/** The type "Custom", whose `base_url` is the address of every request. */
const custom = 8;
const operation = /\/(?:embeddings|images\/(?:generations|edits))$/;

/** Undefined if Vexel cannot use the address, which was reported. */
function addressOf(
  kind: string,
  path: string,
  { type, base_url }: JsonObject,
  report: SubjectReport,
): { baseUrl?: string } | undefined {
  const base = typeof base_url === "string" ? base_url.trim().replace(/\/+$/, "") : "";
  if (base === "") {
    if (kind !== "openai-compatible") return {};
    report.dropped("base_url", "not imported: the channel has none");
    return undefined;
  }
  if (Number(type) !== custom) return { baseUrl: base.endsWith(path) ? base : `${base}${path}` };
  if (operation.test(base) && !base.includes("{model}"))
    return { baseUrl: base.replace(operation, "") };
  report.dropped(
    "base_url",
    `not imported: the channel sends every request to ${base.replace(/\?.*/, "")}, which does not end with /embeddings, /images/generations or /images/edits`,
  );
  return undefined;
}

/** A service account as JSON. */
function vertexOf(key: string, { other }: JsonObject, report: SubjectReport): Upstream | undefined {
  const { client_email, private_key, project_id } = objectIn(key);
  if (client_email && private_key && project_id)
    return {
      kind: "vertex",
      project: String(project_id),
      location: locationOf(other),
      serviceAccount: Secret.ofText(key),
    };
  report.dropped(
    "key",
    "not imported: it is no service account, which is JSON with project_id, client_email and private_key",
  );
  return undefined;
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
