/**
 * The routing stage: selects a target and sends the request. Failover and retries, where the error allows them and the
 * model's retry budget has a retry left. Embeddings requests are also hedged.
 */

import type { Stage } from "../request/stage.ts";
import { createAttempt } from "./attempt.ts";
import { RoutedRequest } from "./routed-request.ts";
import type { RouteRequestOptions } from "./routing-options.ts";

export const routeRequest =
  <Q, A>(options: RouteRequestOptions<Q, A>): Stage<Q, A> =>
  (next) => {
    const { registry, sizeClassOf, queue, watchEnd } = options;
    const attempt = createAttempt<Q, A>({
      next,
      clock: registry.clock,
      watchEnd,
      sizeClassOf,
      onSlotFreed: () => queue?.admitWaiting(),
    });
    return (request) => {
      const { failure } = request.tried ?? {};
      if (!failure) request.record.routing.upstreamRequests++;
      return new RoutedRequest(options, attempt, request).run(failure);
    };
  };
