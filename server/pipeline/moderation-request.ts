/**
 * The moderation request of an image request: an internal request of the same API key, with its own ledger row, cost
 * and budget reservation. The image request was admitted already and waits for it, so its limits are not counted twice.
 */

import type { CheckPrompt } from "../images/moderate.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { enforceTargetLimits, type TargetLimitOptions } from "../limits/target-limits.ts";
import { composeStages, type Send } from "../request/stage.ts";
import { moderationPriceOf } from "../upstream/catalog/prices/moderation-price.ts";
import type { UpstreamClient } from "../upstream/client.ts";
import type { ModerationQuery, ModerationResponse, Target } from "../upstream/contract.ts";
import { pinnedTo } from "./pinned-target.ts";
import type { Execute } from "./serve.ts";

export interface ModerationRequestOptions {
  readonly execute: Execute;
  readonly moderation: UpstreamClient["moderation"];
  readonly limits: TargetLimitOptions;
}

export function createCheckPrompt({
  execute,
  moderation,
  limits,
}: ModerationRequestOptions): CheckPrompt {
  const sendTo = (target: Target, prompt: string): Send<ModerationQuery, ModerationResponse> =>
    pinnedTo(
      target,
      composeStages([enforceTargetLimits(limits)], ({ query, signal, traceHeaders }) =>
        moderation(prompt, query.model, target, signal, traceHeaders),
      ),
    );
  return ({ query: { model, prompt }, record, signal }, target) => {
    const { caller, requestId, priority, trace } = record;
    if (!caller) throw new GatewayError("internal", "A moderated request has no caller.");
    return execute({
      requestId: `${requestId}-moderation`,
      caller,
      query: { model, input: { kind: "text", texts: [prompt] } },
      priority,
      signal,
      isPartOfRequest: true,
      ...(trace && { trace: trace.child() }),
      endpoint: {
        operation: "moderations",
        kind: "image",
        cost: ({ usage }) => {
          const price = moderationPriceOf(target);
          if (price === 0) return 0;
          const { inputTokens } = usage ?? {};
          if (price === undefined || inputTokens === undefined) return undefined;
          return (inputTokens * price) / 1_000_000;
        },
      },
      send: sendTo(target, prompt),
      usageOf: ({ usage }) => usage,
      use: async (response) => response,
    });
  };
}
