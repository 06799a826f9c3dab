import type { UpstreamEntity, UpstreamKind } from "../../../../contract/admin.ts";
import { listQuery } from "../../api/lists.ts";

export const upstreamsQuery = listQuery<UpstreamEntity>("/upstreams");
/** The kinds change only with the version of the gateway. */
export const kindsQuery = {
  ...listQuery<UpstreamKind>("/upstream-kinds"),
  staleTime: Number.POSITIVE_INFINITY,
};
