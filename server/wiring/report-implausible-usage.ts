/** Tells the operator of an upstream that says it counted more than can be. */

import type { Log } from "../observe/log.ts";
import type { CheckOptions } from "../pipeline/verify-stage.ts";

export const reportImplausibleUsage =
  (log: Log): CheckOptions["onDisbelieved"] =>
  ({ target, route, record }, { what, reported: told, max: most }) =>
    log.warn("usage-implausible", {
      model: route.id,
      upstream: target?.upstream.id,
      targetModel: target?.model,
      what,
      reported: told,
      max: most,
      requestId: record.requestId,
    });
