/** Shared by vendors whose response is a job that is polled. */
import type { ImageRequestContext, PendingJob, UpstreamRequest } from "../../adapter.ts";
import { hasCredentials } from "../../download/index.ts";
import { invalidResponse } from "../../invalid-response.ts";

/** The job is still pending: fields that are absent stay as they were. */
export const stillPending: PendingJob = { kind: "pending" };

/**
 * The id of the job in a response. Throws if the response to a poll has the id of another job: its image could be
 * another client's.
 */
export function jobIdOf(
  id: unknown,
  { jobId }: Pick<ImageRequestContext, "jobId">,
): Pick<PendingJob, "jobId"> {
  if (typeof id !== "string") return {};
  if (jobId !== undefined && jobId !== id) throw invalidResponse("it is about another job");
  return { jobId: id };
}

/** A poll of a job, which is free of charge. */
export const jobRequest = (url: string, headers: UpstreamRequest["headers"]): UpstreamRequest => ({
  url,
  headers,
  streams: true,
});

/**
 * The vendor's URL of a job. The API key is sent to it, so it must be at the configured base URL or at one of the
 * vendor's own domains.
 */
export function jobLink(link: unknown, baseUrl: string, domains: readonly string[]): string {
  const url = typeof link === "string" ? URL.parse(link) : null;
  if (!url) throw invalidResponse("it has no poll URL for the job");
  if (
    !hasCredentials(url) &&
    (url.origin === URL.parse(baseUrl)?.origin || isInDomains(url, domains))
  )
    return url.href;
  throw invalidResponse("its poll URL is on another host, to which the API key is not sent");
}

const isInDomains = ({ protocol, port, hostname }: URL, domains: readonly string[]): boolean =>
  protocol === "https:" &&
  port === "" &&
  domains.some((domain) => hostname === domain || hostname.endsWith(`.${domain}`));
