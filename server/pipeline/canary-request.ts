/**
 * The requests of the drift canary: internal requests of the gateway itself at batch priority, each to one target,
 * without cache, failover or batching.
 */
import { internalCaller } from "../auth/internal-caller.ts";
import type { Snapshot } from "../config/snapshot.ts";
import type { CanaryOptions } from "../embeddings/drift-canary.ts";
import { countedTokens, embeddingsCost } from "../embeddings/embedding-usage.ts";
import { verifyEmbeddings } from "../embeddings/verify-embeddings.ts";
import { dropImplausibleEmbeddingsUsage } from "../ledger/drop-implausible-usage.ts";
import { enforceTargetLimits, type TargetLimitOptions } from "../limits/target-limits.ts";
import { composeStages, type Send, type StageRequest } from "../request/stage.ts";
import type { UpstreamClient } from "../upstream/client.ts";
import type { EmbeddingsQuery, EmbeddingsResponse, Target } from "../upstream/contract.ts";
import { pinnedTo } from "./pinned-target.ts";
import type { Execute } from "./serve.ts";
import type { VerifyOptions } from "./verify-stage.ts";

export interface CanaryRequestOptions extends VerifyOptions {
  readonly execute: Execute;
  readonly embeddings: UpstreamClient["embeddings"];
  readonly limits: TargetLimitOptions;
  readonly snapshot: () => Snapshot;
  readonly newRequestId: () => string;
  readonly timeoutMs: number;
}

export function createCanaryRequest(options: CanaryRequestOptions): CanaryOptions["embed"] {
  const { execute, embeddings, limits, snapshot, newRequestId, timeoutMs } = options;
  const sendTo = (target: Target): Send<EmbeddingsQuery, EmbeddingsResponse> => {
    const send: Send<EmbeddingsQuery, EmbeddingsResponse> = composeStages(
      [enforceTargetLimits(limits)],
      ({ query, signal }) => embeddings(query, target, signal),
    );
    return pinnedTo(target, (request) => verifiedResponse(send, request, options));
  };
  return (query, target, signal) =>
    execute({
      requestId: newRequestId(),
      caller: internalCaller(snapshot()),
      query,
      priority: "batch",
      signal,
      timeoutMs,
      endpoint: {
        operation: "embeddings",
        kind: "embedding",
        cost: (record) => embeddingsCost(record, [target]),
      },
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
  const { embeddings } = request.record;
  embeddings.inputs = 1;
  const verified = verifyEmbeddings(await send(request), request.query, undefined);
  const response = dropImplausibleEmbeddingsUsage(verified, request, onImplausibleUsage);
  embeddings.upstreamTokens = countedTokens(response);
  return response;
}
