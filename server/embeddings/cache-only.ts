/**
 * Load shedding behind the embedding cache: a request that was admitted for the cache only, and missed it, is refused.
 */

import { overloadedError } from "../limits/load-shedder.ts";
import type { Stage } from "../request/stage.ts";
import type { EmbeddingsQuery, EmbeddingsResponse } from "../upstream/contract.ts";

export const cacheOnly: Stage<EmbeddingsQuery, EmbeddingsResponse> = (next) => (request) =>
  request.record.cacheOnly ? Promise.reject(overloadedError()) : next(request);
