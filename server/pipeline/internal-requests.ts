/**
 * Internal requests, which the gateway itself sends through the pipeline, each to one given target: the embeddings
 * requests of the drift canary, and the moderation requests for the prompts of image requests.
 */
import { internalCaller } from "../auth/authenticate.ts";
import type { Moderation, Snapshot } from "../config/snapshot.ts";
import type { CanaryOptions } from "../embeddings/drift-canary.ts";
import { chargeEmbeddings, countedTokens } from "../embeddings/embedding-usage.ts";
import type { CheckPrompt } from "../images/moderate.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { estimateModeration } from "../limits/estimate-cost.ts";
import { enforceTargetLimits, type TargetLimitOptions } from "../limits/target-limits.ts";
import type { PermittedModel } from "../request/caller.ts";
import { type ChargeAttempt, chargeOnlyAttempt } from "../request/charge-attempt.ts";
import { Deadline, SignalClient } from "../request/deadline.ts";
import { composeStages, type Send, type StageRequest } from "../request/stage.ts";
import { moderationPriceOf } from "../upstream/catalog/prices/model-price.ts";
import type { UpstreamClient } from "../upstream/client.ts";
import type {
  EmbeddingsQuery,
  EmbeddingsResponse,
  ModerationQuery,
  ModerationResponse,
  Target,
} from "../upstream/contract.ts";
import type { Execute } from "./handle-request.ts";
import {
  dropImplausibleEmbeddingsUsage,
  dropImplausibleModerationUsage,
  type VerifyOptions,
  verifyEmbeddings,
} from "./verify-response.ts";

const pinnedTo =
  <Q, A>(target: Target, charge: ChargeAttempt<Q, A>, send: Send<Q, A>): Send<Q, A> =>
  (request) => {
    const { report, context } = request;
    const { trace } = context;
    report.startAttempt({ target, startedAt: undefined });
    const traceHeaders = trace?.headersOf(trace.spanId);
    return chargeOnlyAttempt(target, charge, send)({ ...request, target, traceHeaders });
  };

const chargeModeration: ChargeAttempt<ModerationQuery, ModerationResponse> = (
  { query, report },
  target,
  response,
) => {
  const price = moderationPriceOf(target);
  const tokens = price === 0 ? 0 : response?.usage?.inputTokens;
  const isKnown = response !== undefined && price !== undefined && tokens !== undefined;
  report.addCharge({
    target,
    billed: response ? "yes" : "maybe",
    cost: isKnown ? (tokens * price) / 1_000_000 : undefined,
    estimate: isKnown ? undefined : estimateModeration(query, target).dollars,
  });
};

interface CanaryRequestOptions extends VerifyOptions {
  readonly execute: Execute;
  readonly embeddings: UpstreamClient["embeddings"];
  readonly limits: TargetLimitOptions;
  readonly snapshot: () => Snapshot;
  readonly newRequestId: () => string;
  readonly timeoutMs: number;
}

/** The requests of the drift canary: at batch priority, without cache, failover or batching. */
export function createCanaryRequest(options: CanaryRequestOptions): CanaryOptions["embed"] {
  const { execute, embeddings, limits, snapshot, newRequestId, timeoutMs } = options;
  const sendTo = (target: Target): Send<EmbeddingsQuery, EmbeddingsResponse> => {
    const send = composeStages([enforceTargetLimits(limits)], embeddings);
    return pinnedTo(target, chargeEmbeddings, (request) =>
      verifiedResponse(send, request, options),
    );
  };
  return (query, target, signal) =>
    execute({
      requestId: newRequestId(),
      caller: internalCaller(snapshot()),
      query,
      priority: "batch",
      signal,
      timeoutMs,
      endpoint: { operation: "embeddings", kind: "embedding" },
      send: sendTo(target),
      usageOf: (response) => {
        const inputTokens = countedTokens(response);
        return inputTokens === undefined ? undefined : { inputTokens };
      },
      use: async ({ vectors }) => vectors[0],
    });
}

/** Verifies the response without the model's length: a vector of another length is what the canary looks for. */
async function verifiedResponse(
  send: Send<EmbeddingsQuery, EmbeddingsResponse>,
  request: StageRequest<EmbeddingsQuery>,
  { onImplausibleUsage }: VerifyOptions,
): Promise<EmbeddingsResponse> {
  const { report } = request;
  report.addSentInputs(1);
  const verified = verifyEmbeddings(await send(request), request.query, undefined);
  const response = dropImplausibleEmbeddingsUsage(verified, request.query, (usage) =>
    onImplausibleUsage(request, usage),
  );
  report.addServed(1, countedTokens(response));
  return response;
}

interface ModerationRequestOptions extends VerifyOptions {
  readonly execute: Execute;
  readonly moderation: UpstreamClient["moderation"];
  readonly limits: TargetLimitOptions;
  /** The request timeout of image models that have none of their own. */
  readonly imageTimeoutMs: number;
}

/**
 * The moderation request of an image request: of the same API key, with its own ledger row, cost and budget
 * reservation. The image request was admitted already and waits for it, so its limits are not counted twice. The
 * timeout of the moderation leaves time to generate the image. It starts when the moderation is sent, after every wait
 * in a queue, and no wait shortens it: a client that fills a queue must not be able to switch the moderation off.
 */
export function createCheckPrompt({
  execute,
  moderation: sendModeration,
  limits,
  imageTimeoutMs,
  onImplausibleUsage,
}: ModerationRequestOptions): CheckPrompt {
  const sendTo = (
    { target, timeoutMs }: Moderation,
    prompt: string,
    imageModel: PermittedModel,
  ): Send<ModerationQuery, ModerationResponse> => {
    const send: Send<ModerationQuery, ModerationResponse> = composeStages(
      [enforceTargetLimits(limits)],
      async ({ query, signal, traceHeaders }) => {
        const deadline = new Deadline({
          client: new SignalClient(signal()),
          timeoutMs: Math.min(timeoutMs, Math.ceil((imageModel.timeoutMs ?? imageTimeoutMs) / 2)),
          clock: limits.clock,
        });
        try {
          return await sendModeration(prompt, query.model, target, deadline.signal, traceHeaders);
        } finally {
          deadline.end();
        }
      },
    );
    return pinnedTo(target, chargeModeration, async (request) =>
      dropImplausibleModerationUsage(await send(request), request.query, (usage) =>
        onImplausibleUsage(request, usage),
      ),
    );
  };
  return ({ query: { model, prompt }, model: imageModel, context, signal }, moderation) => {
    const { caller, endUser, tags, requestId, priority, trace } = context;
    if (!caller) throw new GatewayError("internal", "A moderated request has no caller.");
    return execute({
      requestId: `${requestId}-moderation`,
      caller,
      attribution: { endUser, tags },
      query: { model, input: { kind: "text", texts: [prompt] } },
      priority,
      signal: signal(),
      isPartOfRequest: true,
      ...(trace && { trace: trace.child() }),
      endpoint: { operation: "moderations", kind: "image" },
      send: sendTo(moderation, prompt, imageModel),
      usageOf: ({ usage }) => usage,
      use: async (response) => response,
    });
  };
}
