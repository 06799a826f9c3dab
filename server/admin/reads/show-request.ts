/** Ledger rows as JSON. */
import type { RequestDetail, ShownRequest, TargetSelection } from "../../../contract/admin.ts";
import { type AttemptSelection, readTimeline } from "../../request/timeline.ts";
import type { LedgerRow } from "../../storage/ports/ledger-row.ts";
import { tagsOf } from "../../storage/sql/labels.ts";
import { showStep } from "./show-steps.ts";

export const showRequest = (row: LedgerRow, keyName: string | null): ShownRequest => ({
  object: "request",
  id: row.requestId,
  at: new Date(row.at).toISOString(),
  endpoint: row.endpoint,
  key_id: row.keyId,
  key_name: keyName,
  project: row.project,
  model: row.model,
  upstream: row.upstream,
  target_model: row.targetModel,
  attempts: row.attempts,
  status: row.status,
  error: row.error,
  latency_ms: Math.round(row.latencyMs * 100) / 100,
  input_tokens: row.inputTokens,
  output_tokens: row.outputTokens,
  images: row.images,
  bytes_in: row.bytesIn,
  bytes_out: row.bytesOut,
  inputs: row.inputs,
  cached_inputs: row.cachedInputs,
  cost: row.cost,
  estimated_cost: row.estimatedCost,
  tags: [...tagsOf(row)],
  end_user: row.endUser,
});

interface DetailOptions {
  /** Unix milliseconds. Undefined if the content is not stored. */
  readonly contentExpiresAt: number | undefined;
  /** Administrators see the messages of vendors. */
  readonly isAdministrator: boolean;
}

export function showRequestDetail(
  row: LedgerRow,
  keyName: string | null,
  { contentExpiresAt, isAdministrator }: DetailOptions,
): RequestDetail {
  const { queuedMs, attempts, microBatchSize, adapted, dropped } = readTimeline(row.timeline);
  const ownTarget = `${row.upstream}/${row.targetModel}`;
  return {
    ...showRequest(row, keyName),
    upstream_tokens: row.upstreamTokens,
    error_message: row.errorMessage,
    replica: row.replica,
    queued_ms: queuedMs,
    timeline: attempts.map((attempt) => ({
      target: attempt.target ?? ownTarget,
      start_ms: attempt.startMs,
      duration_ms: attempt.durationMs,
      queued_ms: attempt.queuedMs,
      is_hedge: attempt.isHedge,
      error: attempt.error ?? null,
      upstream_status: attempt.upstream?.status ?? null,
      upstream_code: attempt.upstream?.code ?? null,
      upstream_request_id: attempt.upstream?.requestId ?? null,
      upstream_message: isAdministrator
        ? (attempt.upstream?.message ?? attempt.reason ?? null)
        : null,
      selection: attempt.selection ? showSelection(attempt.selection) : null,
    })),
    batch_size: microBatchSize ?? null,
    adapted,
    dropped,
    content_expires_at:
      contentExpiresAt === undefined ? null : new Date(contentExpiresAt).toISOString(),
    steps: row.steps === null ? [] : row.steps.split("; ").map(showStep),
  };
}

const showSelection = ({
  by,
  compared,
  tier,
  isLaterTier,
  failed,
}: AttemptSelection): TargetSelection => ({
  by,
  candidates: compared,
  tier: tier ?? null,
  is_later_tier: isLaterTier,
  failed: failed ?? null,
});
