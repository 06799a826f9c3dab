/** The Redis implementations obey the laws of their ports. In one file, so that one process starts one server. */
import { testsWith } from "../programs.ts";
import {
  redisEmbeddings,
  redisRequestClaims,
  redisSharedLimits,
} from "./laws/redis-implementations.ts";
import { requestClaimsLaws } from "./laws/request-claims.laws.ts";
import { sharedEmbeddingsLaws } from "./laws/shared-embeddings.laws.ts";
import { sharedLimitsLaws } from "./laws/shared-limits.laws.ts";

testsWith(["redis"], import.meta.file, () => {
  requestClaimsLaws(redisRequestClaims);
  sharedEmbeddingsLaws(redisEmbeddings);
  sharedLimitsLaws(redisSharedLimits);
});
