/** How a gateway of ours says that `usage` is an estimate. The next one must not account for it as if it were reported. */
import type { UpstreamResponse } from "../../adapter.ts";

/** The response header. */
export const usageHeader = "vexel-usage";
/** The same in a stream event, since the headers are sent before the usage is known. */
export const estimatedField = "vexel_usage";

export const isEstimated = ({ headers }: Pick<UpstreamResponse, "headers">): boolean =>
  headers.get(usageHeader) === "estimated";
