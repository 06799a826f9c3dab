/** Rows of the tables "Fixed values": the page, the label, and the value of the code as the page writes it. */
import { minKeyLength } from "../../contract/schemas/keys.ts";
import { maxTargets } from "../../contract/schemas/models.ts";
import { engines } from "../../package.json";
import { imageLimits } from "../../packages/sketch/src/options.ts";
import { maxKeysPerProject } from "../../server/admin/key-capacity.ts";
import { maxEditImages } from "../../server/api/edits.ts";
import { streamTimes } from "../../server/app.ts";
import { keyRandomBytes } from "../../server/auth/generate-key.ts";
import { batchDefaults } from "../../server/embeddings/batch.ts";
import { maxInteractiveInputs } from "../../server/embeddings/cache/cache-stage.ts";
import { bulkShare, protectedShare } from "../../server/embeddings/cache/embedding-cache.ts";
import { minSimilarity } from "../../server/embeddings/drift-canary.ts";
import { maxParallelSubRequests } from "../../server/embeddings/split.ts";
import { deliveryTimeoutMs, retryJitter } from "../../server/events/delivery-queue.ts";
import { maxParallelImageRequests } from "../../server/images/fan-out.ts";
import { ledgerDefaults } from "../../server/ledger/ledger.ts";
import { maxOvertakenCount } from "../../server/limits/fair-queue.ts";
import {
  interactiveShare,
  maxCacheOnlyBytes,
  reserveShare,
  spareShare,
} from "../../server/limits/load-shedder.ts";
import { defaultPixels } from "../../server/limits/request-demand.ts";
import { maxCounterSeries, maxHistogramSeries } from "../../server/observe/metrics/instruments.ts";
import { maxErrorsPerSecond, maxPendingSpans } from "../../server/observe/traces/open-tracing.ts";
import { maxTextLength } from "../../server/request/max-text-length.ts";
import {
  decreaseFactor,
  hardLimitMs,
  maxCoolDownMs,
  minimumLimit,
} from "../../server/routing/health/adaptive-concurrency.ts";
import {
  failureThreshold,
  failureThresholdInRamp,
  maxOpenMs,
  minFailureRate,
  minOpenMs,
  minRampShare,
  minSamples,
  probeTimeoutMs,
  rampMs,
  recentOutcomesCapacity,
  successThresholdIfPartial,
} from "../../server/routing/health/circuit-breaker.ts";
import {
  initialTimeoutMs,
  minLatencySamples,
  minTimeoutMs,
} from "../../server/routing/health/latency-stats.ts";
import { silenceMs, silentRequestsLimit } from "../../server/routing/health/target-health.ts";
import { reservePerSecond, retryShare } from "../../server/routing/retry-budget.ts";
import {
  maxBackoffMs,
  maxRepeats,
  maxRetryAfterMs,
  minBackoffMs,
} from "../../server/routing/retry-policy.ts";
import { linkRandomBytes } from "../../server/storage/files/image-files.ts";
import { maxOutboxBytes } from "../../server/storage/files/outbox.ts";
import { maxDamagedFiles } from "../../server/storage/files/outbox-recovery.ts";
import {
  keepEventsMs,
  maxEvents,
  maxWaitingDeliveries,
} from "../../server/storage/sql/event-store.ts";
import { bufferedPool, distrustMs } from "../../server/upstream/transport/connection-pool.ts";
import { maxRecheckMs, minRecheckMs } from "../../server/wiring/drift-checks.ts";
import { spillUploadsAbove } from "../../server/wiring/listener.ts";
import { maxLocalModels } from "../../server/workers/embedding/local.ts";
import { minilmModel } from "../../server/workers/embedding/minilm.ts";

const count = (value: number): string => value.toLocaleString("en-US");
const kib = (bytes: number): string => `${bytes / 1024} KiB`;
const mib = (bytes: number): string => `${bytes / 1024 ** 2} MiB`;
const percent = (share: number): string => `${Math.round(share * 100)} %`;
const fraction = (share: number): string => `1/${1 / share}`;
const time = (ms: number): string => {
  if (ms < 1000) return `${ms} ms`;
  return ms < 60_000 ? `${ms / 1000} s` : `${ms / 60_000} min`;
};

export const fixedValues: readonly (readonly [page: string, label: string, value: string])[] = [
  ["docs/operations.md", "Node.js version", `${engines.node.replace(">=", "")} or later`],
  ["docs/operations.md", "File size above which an upload goes to disk", kib(spillUploadsAbove)],
  [
    "docs/operations.md",
    "Ledger rows kept in memory while the outbox cannot be written",
    count(ledgerDefaults.maxPending),
  ],
  [
    "docs/operations.md",
    "Size of the outbox, above which it counts as a full disk",
    mib(maxOutboxBytes),
  ],
  ["docs/operations.md", "Damaged outboxes that are kept", count(maxDamagedFiles)],
  [
    "docs/operations.md",
    "API keys of one project that the admin API creates",
    count(maxKeysPerProject),
  ],
  ["docs/operations.md", "Targets of a model", count(maxTargets)],
  [
    "docs/operations.md",
    "Pause between two attempts to write the ledger",
    time(ledgerDefaults.retryMs),
  ],
  [
    "docs/api.md",
    "Characters of one embeddings input, and of an image prompt",
    count(maxTextLength),
  ],
  ["docs/api.md", "Images in one edit request", count(maxEditImages)],
  [
    "docs/embeddings.md",
    "Sub-requests of one split request in parallel",
    count(maxParallelSubRequests),
  ],
  ["docs/embeddings.md", "Dimensions of `all-minilm-l6-v2`", count(minilmModel.dimensions)],
  [
    "docs/embeddings.md",
    "Tokens that `all-minilm-l6-v2` reads of one input",
    count(minilmModel.maxTokens),
  ],
  ["docs/embeddings.md", "Local ONNX models loaded at the same time", count(maxLocalModels)],
  [
    "docs/images.md",
    "Upstream requests of one image request in parallel",
    count(maxParallelImageRequests),
  ],
  [
    "docs/images.md",
    "Wait for the first stream event before the status 200 is sent",
    time(streamTimes.firstEventMs),
  ],
  [
    "docs/images.md",
    "Silence after which a stream gets a comment line",
    time(streamTimes.heartbeatMs),
  ],
  [
    "docs/images.md",
    "Width and height of `vexel-sketch` images",
    `${imageLimits.edge.join(" to ")} pixels`,
  ],
  ["docs/images.md", "Pixels of a `vexel-sketch` image", count(imageLimits.pixels)],
  [
    "docs/rate-limits-and-budgets.md",
    "Image size counted when a request names none",
    `${Math.sqrt(defaultPixels)}x${Math.sqrt(defaultPixels)}`,
  ],
  [
    "docs/rate-limits-and-budgets.md",
    "Body size up to which an embeddings request is tried against the cache under overload",
    kib(maxCacheOnlyBytes),
  ],
  [
    "docs/rate-limits-and-budgets.md",
    "Slots beyond `VEXEL_MAX_CONCURRENT`, for fairness and for cache hits",
    `${[...new Set([reserveShare, spareShare].map(fraction))].join(" and ")} of it each`,
  ],
  [
    "docs/rate-limits-and-budgets.md",
    "Slots of `VEXEL_MAX_CONCURRENT` that batch requests leave free",
    `${fraction(interactiveShare)} of it`,
  ],
  [
    "docs/rate-limits-and-budgets.md",
    "Interactive requests that may go before a waiting batch request",
    count(maxOvertakenCount),
  ],
  [
    "docs/caching-and-batching.md",
    "Inputs above which a request counts as a bulk request",
    count(maxInteractiveInputs),
  ],
  [
    "docs/caching-and-batching.md",
    "Share of a full cache for vectors of bulk requests",
    fraction(bulkShare),
  ],
  [
    "docs/caching-and-batching.md",
    "Share of a full cache for vectors with two hits",
    `${protectedShare * 100} %`,
  ],
  [
    "docs/caching-and-batching.md",
    "Usual response time below which a request never waits for a batch",
    time(batchDefaults.fastMs),
  ],
  [
    "docs/caching-and-batching.md",
    "Upstream requests in flight that make a target busy",
    count(batchDefaults.concurrency),
  ],
  [
    "docs/caching-and-batching.md",
    "Requests that wait for a batch per target",
    count(batchDefaults.maxQueued),
  ],
  [
    "docs/routing-and-failover.md",
    "Consecutive failures that eject a target",
    count(failureThreshold),
  ],
  [
    "docs/routing-and-failover.md",
    "Consecutive failures that eject a target during slow start",
    count(failureThresholdInRamp),
  ],
  ["docs/routing-and-failover.md", "First half-open probe after", time(minOpenMs)],
  ["docs/routing-and-failover.md", "Longest time until the next half-open probe", time(maxOpenMs)],
  ["docs/routing-and-failover.md", "Timeout of a half-open probe", time(probeTimeoutMs)],
  ["docs/routing-and-failover.md", "Slow start after recovery", time(rampMs)],
  [
    "docs/routing-and-failover.md",
    "Share of requests at the beginning of slow start",
    percent(minRampShare),
  ],
  [
    "docs/routing-and-failover.md",
    "Recent requests in the error share of a target",
    count(recentOutcomesCapacity),
  ],
  ["docs/routing-and-failover.md", "Fewest requests for outlier ejection", count(minSamples)],
  ["docs/routing-and-failover.md", "Error share for outlier ejection", percent(minFailureRate)],
  [
    "docs/routing-and-failover.md",
    "Successful probes after outlier ejection",
    count(successThresholdIfPartial),
  ],
  [
    "docs/routing-and-failover.md",
    "Longest cool-down of a rate-limited target",
    time(maxCoolDownMs),
  ],
  ["docs/routing-and-failover.md", "Retry budget: share of requests", percent(retryShare)],
  [
    "docs/routing-and-failover.md",
    "Retry budget: reserve",
    `${count(reservePerSecond)} per second`,
  ],
  ["docs/routing-and-failover.md", "Retries of the same target per request", count(maxRepeats)],
  [
    "docs/routing-and-failover.md",
    "First retry of the same target after",
    `${minBackoffMs} to ${maxBackoffMs} ms`,
  ],
  [
    "docs/routing-and-failover.md",
    "Longest `retry-after` that is waited for",
    time(maxRetryAfterMs),
  ],
  [
    "docs/routing-and-failover.md",
    "Responses before the first hedged request",
    count(minLatencySamples),
  ],
  ["docs/routing-and-failover.md", "Shortest attempt timeout", time(minTimeoutMs)],
  [
    "docs/routing-and-failover.md",
    "Attempt timeout while nothing is known",
    time(initialTimeoutMs),
  ],
  [
    "docs/routing-and-failover.md",
    "Requests in flight to a silent target that stop new requests",
    count(silentRequestsLimit),
  ],
  ["docs/routing-and-failover.md", "Silence that stops new requests", time(silenceMs)],
  [
    "docs/routing-and-failover.md",
    "Concurrency limit after an overload signal",
    `${percent(decreaseFactor)} of the requests in flight`,
  ],
  ["docs/routing-and-failover.md", "Lowest adaptive concurrency limit", count(minimumLimit)],
  [
    "docs/routing-and-failover.md",
    "Hard concurrency limit after an overload signal",
    time(hardLimitMs),
  ],
  [
    "docs/routing-and-failover.md",
    "Cosine similarity below which a target has drifted",
    String(minSimilarity),
  ],
  [
    "docs/routing-and-failover.md",
    "Pause before a target that did not respond is compared again; it doubles up to the second value",
    `${time(minRecheckMs)}, ${time(maxRecheckMs)}`,
  ],
  [
    "docs/routing-and-failover.md",
    "No connection reuse after an unsolicited response",
    time(distrustMs),
  ],
  [
    "docs/routing-and-failover.md",
    "Idle connections kept per upstream address",
    count(bufferedPool.maxIdle),
  ],
  [
    "docs/routing-and-failover.md",
    "Time an idle upstream connection is kept",
    time(bufferedPool.idleTimeoutMs),
  ],
  ["docs/observability.md", "Time from the outbox to `ledger.db`", time(ledgerDefaults.groupMs)],
  ["docs/observability.md", "Label sets of a metric", count(maxCounterSeries)],
  ["docs/observability.md", "Label sets of a histogram", count(maxHistogramSeries)],
  ["docs/observability.md", "Spans that wait for the collector", count(maxPendingSpans)],
  [
    "docs/observability.md",
    "Traces of requests with a server error that were not sampled, per second",
    count(maxErrorsPerSecond),
  ],
  ["docs/observability.md", "Events kept", count(maxEvents)],
  ["docs/observability.md", "Days an event is kept", count(keepEventsMs / 86_400_000)],
  ["docs/observability.md", "Events queued per webhook", count(maxWaitingDeliveries)],
  ["docs/observability.md", "Timeout of a webhook delivery", time(deliveryTimeoutMs)],
  ["docs/observability.md", "Jitter of webhook retries", `up to ${percent(retryJitter)} later`],
  ["docs/security.md", "Random bytes in a generated API key", count(keyRandomBytes)],
  ["docs/security.md", "Random bytes in the name of an image link", count(linkRandomBytes)],
  ["docs/security.md", "Characters of an API key in `vexel.yaml`", `at least ${minKeyLength}`],
];
