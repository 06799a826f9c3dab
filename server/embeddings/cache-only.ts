/** Behind the memory: what comes here is not known, and a gateway that has too much to do asks nobody else for it. */

import { overloadedError } from "../limits/load-shedder.ts";
import type { Stage } from "../request/stage.ts";
import type { EmbeddingsQuery, EmbeddingsResponse } from "../upstream/contract.ts";

export const cacheOnly: Stage<EmbeddingsQuery, EmbeddingsResponse> = (next) => (call) =>
  call.record.cacheOnly ? Promise.reject(overloadedError()) : next(call);
