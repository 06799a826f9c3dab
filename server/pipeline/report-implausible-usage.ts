/** Logs an upstream that reports more usage than is possible. */

import type { Log } from "../lib/log.ts";
import type { VerifyOptions } from "./verify-response.ts";

export const reportImplausibleUsage =
  (log: Log): VerifyOptions["onImplausibleUsage"] =>
  ({ target, model, context }, { quantity, reported, max }) =>
    log.warn("usage-implausible", {
      model: model.id,
      upstream: target?.upstream.id,
      targetModel: target?.model,
      quantity,
      reported,
      max,
      requestId: context.requestId,
    });
