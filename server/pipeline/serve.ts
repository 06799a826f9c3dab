/**
 * Creates the functions that handle every request for a model, with or without HTTP, and counts the requests in flight.
 */

import { TurnQueue } from "../lib/turn-queue.ts";
import { LoadShedder } from "../limits/load-shedder.ts";
import type { LimitedQuery } from "../limits/request-demand.ts";
import type { Caller } from "../request/caller.ts";
import type { IncomingRequest, OutgoingResponse } from "../request/http-types.ts";
import type { Send } from "../request/stage.ts";
import type { PipelineServices } from "./dependencies.ts";
import type { Endpoint } from "./endpoint.ts";
import { execute, type InternalRequest } from "./execute.ts";
import { handleRequest } from "./handle-request.ts";

export type Serve = <Q extends LimitedQuery, A>(
  endpoint: Endpoint<Q, A>,
  send: Send<Q, A>,
  incoming: IncomingRequest,
  /** The model, if the request path names it. */
  pathModel?: string,
  /** A caller that was authenticated in another way than by an API key. */
  caller?: Caller,
) => Promise<OutgoingResponse>;

export type Execute = <Q extends LimitedQuery, A, T>(
  request: InternalRequest<Q, A, T>,
) => Promise<T>;

export interface Pipeline {
  readonly serve: Serve;
  readonly execute: Execute;
  inFlight(): number;
}

export function createServe(services: PipelineServices): Pipeline {
  const { admission, maxConcurrent } = services;
  const loadShedder = new LoadShedder({
    ...maxConcurrent,
    shed: (mayLose) => admission.shed(mayLose),
  });
  const writeQueue = new TurnQueue(services.clock);
  return {
    serve: (endpoint, send, incoming, pathModel, caller) =>
      handleRequest({
        services,
        loadShedder,
        writeQueue,
        endpoint,
        send,
        incoming,
        pathModel,
        caller,
      }),
    execute: (request) => execute(services, loadShedder, request),
    inFlight: () => loadShedder.count,
  };
}
