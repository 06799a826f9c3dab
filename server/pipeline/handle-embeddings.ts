/** A call for vectors: nothing of it outlives its caller, and nothing lies on disk. */

import { embeddingsCost } from "../embeddings/embeddings-cost.ts";
import type { LimitedQuery } from "../limits/request-cost.ts";
import type { Route } from "../request/caller.ts";
import type { IncomingRequest, OutgoingResponse } from "../request/http-types.ts";
import { isStreamed, lengthOf } from "../request/response-bodies.ts";
import { usageHeader } from "../upstream/adapters/openai/estimated-usage.ts";
import type { Written } from "./endpoint.ts";
import { answered, Journey, jsonHeaders } from "./handle-request.ts";
import { told } from "./response-headers.ts";

export class VectorJourney<Q extends LimitedQuery, A> extends Journey<Q, A> {
  protected override proceed(query: Q, route: Route): Promise<OutgoingResponse> | OutgoingResponse {
    return this.go(query, route);
  }

  protected override callerOf(incoming: IncomingRequest): () => AbortSignal {
    return () => incoming.signal;
  }

  protected override handOver(answer: A, query: Q, route: Route): Promise<OutgoingResponse> {
    this.record.cost.actual = embeddingsCost(this.record, route.targets);
    const writing = this.endpoint.write(answer, query, nothingMore);
    return writing instanceof Promise
      ? writing.then((written) => this.#deliver(written))
      : this.#deliver(writing);
  }

  #deliver(written: Written): Promise<OutgoingResponse> {
    if (written.kind !== "whole") throw new Error("Vectors do not come as a stream.");
    const { record } = this;
    const { body, usage, estimated } = written;
    record.usage = usage;
    record.outcome.bytesOut = lengthOf(body);
    const headers = told(record, jsonHeaders());
    if (estimated) headers[usageHeader] = "estimated";
    const leaving = isStreamed(body) ? { ...body, close } : body;
    return this.settle(200).then((outcome) => answered(leaving, outcome, headers));
  }
}

const nothingMore = (): never => {
  throw new Error("Vectors need nothing else to be written.");
};

/** It frees its memory itself, piece by piece. */
const close = async (): Promise<void> => undefined;
