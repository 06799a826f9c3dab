/** The Redis implementations obey the laws of their ports. In one file, so that one process starts one server. */
import {
  redisEmbeddings,
  redisRequestClaims,
  redisSharedLeases,
} from "./laws/redis-implementations.ts";
import { requestClaimsLaws } from "./laws/request-claims.laws.ts";
import { sharedEmbeddingsLaws } from "./laws/shared-embeddings.laws.ts";
import { sharedLeasesLaws } from "./laws/shared-leases.laws.ts";
import { hasRedis } from "./redis-server.ts";

if (hasRedis) {
  requestClaimsLaws(redisRequestClaims);
  sharedEmbeddingsLaws(redisEmbeddings);
  sharedLeasesLaws(redisSharedLeases);
}
