/** Each call that comes begins its journey here. */

import { LoadShedder } from "../limits/load-shedder.ts";
import type { LimitedQuery } from "../limits/request-cost.ts";
import type { IncomingRequest, OutgoingResponse } from "../request/http-types.ts";
import type { Answering } from "../request/stage.ts";
import type { Endpoint } from "./endpoint.ts";
import { VectorJourney } from "./handle-embeddings.ts";
import { PictureJourney } from "./handle-images.ts";
import type { ServeOptions } from "./serve-options.ts";

export type Serve = <Q extends LimitedQuery, A>(
  endpoint: Endpoint<Q, A>,
  send: Answering<Q, A>,
  incoming: IncomingRequest,
  /** The model, where it stands in the path. */
  pathModel?: string,
) => Promise<OutgoingResponse>;

export function createServe(options: ServeOptions): { serve: Serve; inHand: () => number } {
  const { admission, maxConcurrent } = options;
  const inHand = new LoadShedder({ ...maxConcurrent, shed: (mayLose) => admission.shed(mayLose) });
  return {
    serve: (endpoint, send, incoming, pathModel) => {
      const Way = endpoint.kind === "embedding" ? VectorJourney : PictureJourney;
      return new Way(options, inHand, endpoint, send, incoming, pathModel).travel();
    },
    inHand: () => inHand.count,
  };
}
