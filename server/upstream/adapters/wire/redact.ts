/** Redacts keys, accounts, addresses and vendor model names from upstream error messages before a client sees them. */
import type { ErrorContext } from "../../adapter.ts";

/** Shorter values are words such as `none`, placeholders for a key that is not needed. */
const shortestSecret = 6;
const maxCharacters = 2000;

export function redact(message: string, { target, model }: ErrorContext): string {
  const { apiKey = "", headers, baseUrl } = target.upstream;
  // Truncated twice: first far beyond the final length, so that no secret is split and then not recognized.
  let safe = message.slice(0, 4 * maxCharacters);
  for (const secret of [apiKey, ...Object.values(headers)]) {
    if (secret.length >= shortestSecret) safe = safe.replaceAll(secret, "***");
  }
  if (target.model !== model) safe = safe.replace(named(target.model), () => model);
  safe = safe
    .replace(/\b[sp]k-[\w*-]{4,}|\bkey-(?=[\w*-]*\d)[\w*-]{8,}/g, "***")
    .replace(/\b(org|proj)[-_]\w+/g, "$1-***")
    .replace(/\b(user|acct)[-_](?=\w*\d)\w{6,}/g, "$1-***")
    .replace(/https?:\/\/[^\s"')]+/g, (link) => (isPublicLink(link) ? link : "(link)"));
  for (const address of addressesOf(baseUrl)) safe = safe.replaceAll(address, "(upstream)");
  return safe.replace(inside, "(address)").slice(0, maxCharacters);
}

/** IP addresses, and host names of private networks. */
const inside =
  /\b(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?\b|\b(?:[a-z0-9-]+\.)+(?:internal|local|localdomain|lan|corp|intranet|svc|cluster\.local)\b(?::\d{1,5})?|\blocalhost(?::\d{1,5})?\b/gi;

/** Matches the whole name: `gpt-image-1` is not the beginning of `gpt-image-1.5`. */
const named = (name: string): RegExp =>
  new RegExp(`(?<![\\w-])${RegExp.escape(name)}(?![\\w-]|\\.\\w)`, "g");

/** Links to a vendor's documentation help; links to hosts of the operator's network are not for clients. */
const isPublicLink = (link: string): boolean =>
  /^https:\/\/([a-z0-9-]+\.)*(openai\.com|microsoft\.com|aka\.ms)\b/.test(link);

/** A host without a dot, such as `vllm`, may also be a common word. */
function addressesOf(baseUrl: string | undefined): string[] {
  const url = baseUrl === undefined ? null : URL.parse(baseUrl);
  if (!url) return [];
  return [url.host, url.hostname].filter((name) => /[.:]/.test(name));
}
