/**
 * Reads an error response: its body, which can be read only once, the message in it, and its redaction: the message
 * without names and secrets that clients must not see.
 */
import type { ErrorContext, UpstreamResponse } from "../../adapter.ts";
import { redactSecrets } from "../../redact-secrets.ts";
import { parseUpstreamJson } from "../../upstream-json.ts";
import { asObject } from "./members.ts";

/** An error page may be long; its beginning is enough to classify it. */
const maxErrorBytes = 64 * 1024;

/** The error body, parsed if it is JSON. */
export async function readErrorBody(response: UpstreamResponse): Promise<unknown> {
  try {
    return await parseUpstreamJson(await response.text(maxErrorBytes));
  } catch {
    return undefined;
  }
}

/**
 * A copy of the response whose body can be read again. `status`: for an error inside a successful response, the status
 * that it should have had.
 */
export function replayBody(
  { headers, status: originalStatus }: UpstreamResponse,
  body: unknown,
  status = originalStatus,
): UpstreamResponse {
  const text = JSON.stringify(body) ?? "";
  return {
    status,
    headers,
    json: async () => body,
    jsonWithVectors: async () => body,
    text: async () => text,
    bytes: async () => Buffer.from(text),
    chunks: async function* () {
      yield Buffer.from(text);
    },
  };
}

/** Shorter names would match unrelated words. */
const shortestName = 5;

/**
 * Redacts these names: projects, accounts and hosts are the operator's. Longest first, because some names contain
 * others.
 */
export const without = (message: string, names: readonly (string | undefined)[]): string =>
  names
    .filter((name) => name !== undefined && name.length >= shortestName)
    .toSorted((a = "", b = "") => b.length - a.length)
    .reduce<string>((safe, name = "") => safe.replaceAll(name, "***"), message);

/**
 * The message in a vendor's error body: OpenAI's `{error: {…}}`; `{message}`, `{detail}` and `{error: "…"}` of similar
 * servers; DeepInfra's `{detail: {error}}`, Jina's `{detail: {message}}`, Mistral's `{message: {detail: […]}}`,
 * Cloudflare's `{errors: [{message}]}` and Stability's `{errors: ["…"]}`.
 */
export function messageIn(response: unknown): string | undefined {
  const body = asObject(response);
  const error = asObject(body?.error) ?? body;
  const candidates = [
    error?.message,
    body?.error,
    validationErrors(error?.detail),
    validationErrors(asObject(error?.message)?.detail),
    errorsIn(body?.errors),
  ];
  return candidates.find(
    (message): message is string => typeof message === "string" && message !== "",
  );
}

/** FastAPI, which many compatible servers use, lists validation errors: `[{loc: ["body", "input"], msg: "…"}]`. */
function validationErrors(detail: unknown): unknown {
  if (!Array.isArray(detail)) {
    const inside = asObject(detail);
    return inside?.error ?? inside?.message ?? detail;
  }
  const message = detail.slice(0, 5).flatMap((entry: unknown) => {
    const { loc, msg } = asObject(entry) ?? {};
    if (typeof msg !== "string") return [];
    return [Array.isArray(loc) ? `${loc.filter(isStep).join(".")}: ${msg}` : msg];
  });
  return message.join("; ");
}

/** A name or an index. An object may have a member `toString` that is not a function, so that it cannot be joined. */
const isStep = (step: unknown): boolean =>
  typeof step === "number" || (typeof step === "string" && step !== "body");

function errorsIn(errors: unknown): unknown {
  if (!Array.isArray(errors)) return undefined;
  const message = errors.filter((entry) => typeof entry === "string");
  return message.length > 0 ? message.join("; ") : asObject(errors[0])?.message;
}

/** Shorter values are words such as `none`, placeholders for a key that is not needed. */
const shortestSecret = 6;
const maxCharacters = 2000;

/** Redacts keys, accounts, addresses and vendor model names from an error message before a client sees it. */
export function redact(message: string, { target, model }: ErrorContext): string {
  const { apiKey = "", headers, baseUrl } = target.upstream;
  // Truncated twice: first far beyond the final length, so that no secret is split and then not recognized.
  const secrets = [apiKey, ...Object.values(headers).flatMap(credentialsIn)].filter(
    ({ length }) => length >= shortestSecret,
  );
  let safe = redactSecrets(message.slice(0, 4 * maxCharacters), secrets, "***");
  if (target.model !== model) safe = safe.replace(wholeName(target.model), () => model);
  safe = safe
    .replace(/\b[sp]k-[\w*-]{4,}|\bkey-(?=[\w*-]*\d)[\w*-]{8,}/g, "***")
    .replace(/\b(org|proj)[-_]\w+/g, "$1-***")
    .replace(/\b(user|acct)[-_](?=\w*\d)\w{6,}/g, "$1-***")
    .replace(/https?:\/\/[^\s"')]+/gi, (link) => (isPublicLink(link) ? link : "(link)"));
  for (const address of addressesOf(baseUrl)) safe = safe.replaceAll(address, "(upstream)");
  return safe.replace(privateAddress, "(address)").slice(0, maxCharacters);
}

/** The value of a header, and without the scheme of `authorization`, such as `Bearer`. */
const credentialsIn = (value: string): string[] => {
  const [, credential] = /^(?:bearer|basic|key|token|api-key|apikey)\s+(.+)$/i.exec(value) ?? [];
  return credential === undefined ? [value] : [value, credential];
};

/** IP addresses, and host names of private networks. */
const privateAddress =
  /\b(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?\b|\b(?:[a-z0-9-]+\.)+(?:internal|local|localdomain|lan|corp|intranet|svc|cluster\.local)\b(?::\d{1,5})?|\blocalhost(?::\d{1,5})?\b/gi;

/** Matches the whole name: `gpt-image-1` is not the beginning of `gpt-image-1.5`. */
const wholeName = (name: string): RegExp =>
  new RegExp(`(?<![\\w-])${RegExp.escape(name)}(?![\\w-]|\\.\\w)`, "g");

/** Links to a vendor's documentation help; links to hosts of the operator's network are not for clients. */
const isPublicLink = (link: string): boolean =>
  /^https:\/\/([a-z0-9-]+\.)*(openai\.com|microsoft\.com|aka\.ms)\b/i.test(link);

/** A host without a dot, such as `vllm`, may also be a common word. */
function addressesOf(baseUrl: string | undefined): string[] {
  const url = baseUrl === undefined ? null : URL.parse(baseUrl);
  if (!url) return [];
  return [url.host, url.hostname].filter((name) => /[.:]/.test(name));
}
