/**
 * Marks `usage` as estimated between Vexel gateways, so that the next gateway does not account for it as reported
 * usage.
 */
import type { UpstreamResponse } from "../../adapter.ts";

/** The response header. */
export const usageHeader = "vexel-usage";
/** The same in a stream event, since the headers are sent before the usage is known. */
export const estimatedField = "vexel_usage";

export const isEstimated = ({ headers }: Pick<UpstreamResponse, "headers">): boolean =>
  headers.get(usageHeader) === "estimated";
