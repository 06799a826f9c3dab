/** Creates the function that handles every request for a model, and counts the requests in flight. */

import { LoadShedder } from "../limits/load-shedder.ts";
import type { LimitedQuery } from "../limits/request-cost.ts";
import type { IncomingRequest, OutgoingResponse } from "../request/http-types.ts";
import type { Send } from "../request/stage.ts";
import type { PipelineServices } from "./dependencies.ts";
import type { Endpoint } from "./endpoint.ts";
import { handleRequest } from "./handle-request.ts";

export type Serve = <Q extends LimitedQuery, A>(
  endpoint: Endpoint<Q, A>,
  send: Send<Q, A>,
  incoming: IncomingRequest,
  /** The model, if the request path names it. */
  pathModel?: string,
) => Promise<OutgoingResponse>;

export function createServe(services: PipelineServices): { serve: Serve; inFlight: () => number } {
  const { admission, maxConcurrent } = services;
  const loadShedder = new LoadShedder({
    ...maxConcurrent,
    shed: (mayLose) => admission.shed(mayLose),
  });
  return {
    serve: (endpoint, send, incoming, pathModel) =>
      handleRequest({ services, loadShedder, endpoint, send, incoming, pathModel }),
    inFlight: () => loadShedder.count,
  };
}
