/**
 * The timeline of a request: how long it was queued, and its attempts with their times. It is stored in the ledger row
 * as compact JSON: one successful attempt takes 20 bytes, a cached request none.
 */

import type { UpstreamErrorResponse } from "../lib/gateway-error.ts";
import type { Deviations, Target } from "../upstream/contract.ts";

export interface AttemptStart {
  readonly target: Target;
  /** Undefined: the attempt is not part of the timeline. */
  readonly startedAt: number | undefined;
  /** A hedged request: another attempt was running. */
  readonly isHedge?: boolean;
  /** The id of its span. Absent: tracing is off. */
  readonly spanId?: string | undefined;
}

/** An attempt at a target. Times are milliseconds of the monotonic clock. */
export interface TimedAttempt {
  readonly target: Target;
  readonly startedAt: number;
  readonly isHedge: boolean;
  /** Undefined: the attempt is running, or was canceled because another one has won. */
  endedAt: number | undefined;
  /** The error kind. */
  error: string | undefined;
  /** The time in the queue of the target, if the target has limits. */
  queuedMs: number;
  /** The error response of the target. Absent: the attempt succeeded, or there was no response. */
  upstream?: UpstreamErrorResponse | undefined;
  /** The id of its span. Absent: tracing is off. */
  readonly spanId?: string | undefined;
}

/** Why a target was selected. */
export interface TargetSelection {
  readonly target: Target;
  /** The number of candidates that were compared. */
  readonly compared: number;
  /** The routing policy, `probe` or `unhealthy` (see `SelectedBy` of the target selection), `failover` or `hedge`. */
  readonly policy: string | undefined;
  /** Undefined: all targets of the model are in one tier. */
  readonly tier: number | undefined;
}

/** The most attempts in a timeline: a request that is split into hundreds of chunks has an attempt for each. */
export const maxTimedAttempts = 24;

/** The parts of a request record that its timeline is made from. */
interface TimelineSource {
  readonly startedAt: number;
  readonly queuedMs: number;
  readonly routing: {
    readonly target: Target | undefined;
    readonly timedAttempts: readonly TimedAttempt[] | undefined;
    readonly selections: readonly TargetSelection[] | undefined;
    readonly batchSize: number | undefined;
  };
  readonly deviations: Deviations;
  readonly outcome: { readonly latencyMs: number; readonly error: string | undefined };
}

export const canceled = "canceled";

/** Trailing values that are absent are left out. The target is absent if it is that of the ledger row. */
type AttemptValues = readonly [
  startMs: number,
  durationMs: number,
  error?: string,
  target?: string,
  queuedMs?: number,
  isHedge?: 0 | 1,
  upstreamStatus?: number,
  upstreamCode?: string,
  upstreamRequestId?: string,
];

/** The timeline as it is stored. A member without a value is absent. */
interface StoredTimeline {
  /** `queuedMs` of the request. */
  readonly q?: number;
  /** Attempts. */
  readonly a?: readonly AttemptValues[];
  /** The number of candidates that were compared. Absent: one. */
  readonly c?: number;
  /** The routing policy. */
  readonly p?: string;
  /** The tier. */
  readonly t?: number;
  /** The size of the shared batch. */
  readonly b?: number;
  /** Adapted parameters. */
  readonly x?: readonly string[];
  /** Dropped parameters. */
  readonly d?: readonly string[];
}

/** null: nothing to store. This is the usual case of a cached request, and it allocates nothing. */
export function writeTimeline(record: TimelineSource): string | null {
  const { timedAttempts, selections, batchSize, target } = record.routing;
  const { adapted, dropped } = record.deviations;
  const { queuedMs } = record;
  if (!timedAttempts && queuedMs === 0 && !adapted?.length && !dropped?.length) return null;
  const selection = selections?.find((each) => each.target === target);
  // JSON leaves out members that are undefined.
  return JSON.stringify({
    q: queuedMs > 0 ? inTenths(queuedMs) : undefined,
    a: timedAttempts?.map((attempt) => attemptValues(attempt, record)),
    c: selection && selection.compared > 1 ? selection.compared : undefined,
    p: selection?.policy,
    t: selection?.tier,
    b: batchSize,
    x: adapted?.length ? adapted : undefined,
    d: dropped?.length ? dropped : undefined,
  } satisfies { readonly [member in keyof StoredTimeline]: StoredTimeline[member] | undefined });
}

function attemptValues(attempt: TimedAttempt, record: TimelineSource): AttemptValues {
  const { target, startedAt, endedAt, queuedMs, isHedge } = attempt;
  const isOwnTarget = target === record.routing.target;
  // A streamed response ends after the row is written.
  const isWinner = isOwnTarget && record.outcome.error === undefined;
  const error = attempt.error ?? (endedAt === undefined && !isWinner ? canceled : "");
  const endsAt = endedAt ?? record.startedAt + record.outcome.latencyMs;
  const startMs = inTenths(startedAt - record.startedAt);
  const durationMs = inTenths(endsAt - startedAt);
  // The usual case.
  if (error === "" && isOwnTarget && queuedMs === 0 && !isHedge) return [startMs, durationMs];
  const values = [
    startMs,
    durationMs,
    error,
    isOwnTarget ? "" : targetName(target),
    inTenths(queuedMs),
    isHedge ? 1 : 0,
    attempt.upstream?.status ?? 0,
    attempt.upstream?.code ?? "",
    attempt.upstream?.requestId ?? "",
  ] as const;
  const length = values.findLastIndex((value) => value !== "" && value !== 0) + 1;
  return values.slice(0, Math.max(2, length)) as unknown as AttemptValues;
}

const inTenths = (ms: number): number => Math.round(Math.max(0, ms) * 10) / 10;

/** Times are milliseconds since the arrival of the request. */
interface Timeline {
  readonly queuedMs: number;
  readonly attempts: readonly {
    readonly startMs: number;
    readonly durationMs: number;
    /** The error kind, or `canceled`. Absent: the attempt succeeded. */
    readonly error?: string;
    /** Absent: the target of the ledger row. */
    readonly target?: string;
    readonly queuedMs: number;
    readonly isHedge: boolean;
    /** Absent: the attempt succeeded, or there was no error response. */
    readonly upstream?: UpstreamErrorResponse;
  }[];
  readonly compared: number;
  readonly policy?: string;
  readonly tier?: number;
  readonly batchSize?: number;
  readonly adapted: readonly string[];
  readonly dropped: readonly string[];
}

export function readTimeline(text: string | null): Timeline {
  const { q = 0, a = [], c = 1, p, t, b, x = [], d = [] } = parse(text);
  return {
    queuedMs: q,
    attempts: a.map(
      ([
        startMs,
        durationMs,
        error,
        target,
        queuedMs = 0,
        isHedge = 0,
        status,
        code,
        requestId,
      ]) => ({
        startMs,
        durationMs,
        ...(error && { error }),
        ...(target && { target }),
        queuedMs,
        isHedge: isHedge === 1,
        ...(status && {
          upstream: { status, ...(code && { code }), ...(requestId && { requestId }) },
        }),
      }),
    ),
    compared: c,
    ...(p !== undefined && { policy: p }),
    ...(t !== undefined && { tier: t }),
    ...(b !== undefined && { batchSize: b }),
    adapted: x,
    dropped: d,
  };
}

/** A damaged timeline must not hide the rest of the ledger row. */
function parse(text: string | null): StoredTimeline {
  try {
    return (JSON.parse(text ?? "{}") ?? {}) as StoredTimeline;
  } catch {
    return {};
  }
}

/** A target by the names of its upstream and of its model there, for operators. */
export const targetName = ({ upstream, model, surface }: Target): string =>
  `${upstream.id}/${model}${surface ? ` (${surface})` : ""}`;
