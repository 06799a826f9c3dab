/** Shared by vendors whose response is an operation that is polled. */
import type { ImageRequestContext, PendingOperation, UpstreamRequest } from "../../adapter.ts";
import type { Upstream } from "../../contract.ts";
import { hasCredentials } from "../../download/index.ts";
import { invalidResponse } from "../../invalid-response.ts";

/** The operation is still pending: fields that are absent stay as they were. */
export const stillPending: PendingOperation = { kind: "pending" };

/**
 * The id of the operation in a response. Throws if the response to a poll has the id of another operation: its image
 * could be another client's.
 */
export function operationIdOf(
  id: unknown,
  { operationId }: Pick<ImageRequestContext, "operationId">,
): Pick<PendingOperation, "operationId"> {
  if (typeof id !== "string") return {};
  if (operationId !== undefined && operationId !== id)
    throw invalidResponse("it is about another operation");
  return { operationId: id };
}

/** A poll of an operation, which is free of charge. */
export const pollRequest = (url: string, headers: UpstreamRequest["headers"]): UpstreamRequest => ({
  url,
  headers,
  streams: true,
});

/**
 * The vendor's URL of an operation. The API key is sent to it, so it must be at the configured base URL or at one of
 * the vendor's own domains.
 */
export function operationLink(link: unknown, baseUrl: string, domains: readonly string[]): string {
  const url = typeof link === "string" ? URL.parse(link) : null;
  if (!url) throw invalidResponse("it has no poll URL for the operation");
  if (
    !hasCredentials(url) &&
    (url.origin === URL.parse(baseUrl)?.origin || isInDomains(url, domains))
  )
    return url.href;
  throw invalidResponse("its poll URL is on another host, to which the API key is not sent");
}

/**
 * A token of Hugging Face is for its router, which forwards requests to vendors. huggingface_hub 2.4.0 tells it from a
 * vendor's own key in this way.
 */
export const isRouted = ({ apiKey }: Upstream): boolean => apiKey?.startsWith("hf_") === true;

/**
 * The URL of an operation behind that router: the path of the vendor's URL, below the name of the vendor, which is the
 * first step of the base URL's path.
 */
export function routedLink(link: unknown, baseUrl: string, query = ""): string {
  const url = typeof link === "string" ? URL.parse(link) : null;
  if (!url) throw invalidResponse("it has no poll URL for the operation");
  const { origin, pathname } = new URL(baseUrl);
  return `${origin}/${pathname.split("/")[1]}${url.pathname}${query}`;
}

const isInDomains = ({ protocol, port, hostname }: URL, domains: readonly string[]): boolean =>
  protocol === "https:" &&
  port === "" &&
  domains.some((domain) => hostname === domain || hostname.endsWith(`.${domain}`));
