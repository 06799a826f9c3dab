/**
 * Merges the statistics and targets of all processes that serve: a client behind a load balancer, or of the shared port
 * of workers, cannot choose one.
 */
import type { ShownTarget, Statistics } from "../../../contract/admin.ts";

export type ShownStatistics = Omit<Statistics, "object">;

export const mergeStatistics = (
  first: ShownStatistics,
  others: readonly ShownStatistics[],
): ShownStatistics =>
  others.reduce(
    (a, b) => ({
      started_at: [a.started_at, b.started_at].toSorted()[0] ?? a.started_at,
      requests_in_flight: a.requests_in_flight + b.requests_in_flight,
      requests_queued: a.requests_queued + b.requests_queued,
      live_viewers: a.live_viewers + b.live_viewers,
      cache: {
        enabled: a.cache.enabled,
        entries: a.cache.entries + b.cache.entries,
        bytes: a.cache.bytes + b.cache.bytes,
        max_bytes: a.cache.max_bytes + b.cache.max_bytes,
      },
      batching: {
        enabled: a.batching.enabled,
        batches: a.batching.batches + b.batching.batches,
        batched_requests: a.batching.batched_requests + b.batching.batched_requests,
      },
    }),
    first,
  );

/**
 * Each process has circuit breakers of its own; the worst state of a target is shown. The targets and their order are
 * those of the first list. The same model in another API of the upstream (`surface`) is another target.
 */
export function mergeTargets(
  first: readonly ShownTarget[],
  others: readonly (readonly ShownTarget[])[],
): readonly ShownTarget[] {
  const idOf = ({ upstream, model, surface }: ShownTarget): string =>
    JSON.stringify([upstream, model, surface]);
  const byId = Map.groupBy(others.flat(), idOf);
  return first.map((target) => (byId.get(idOf(target)) ?? []).reduce(mergeTarget, target));
}

/** From the best state to the worst. */
const states: readonly ShownTarget["state"][] = ["healthy", "cooling", "half_open", "ejected"];

function mergeTarget(a: ShownTarget, b: ShownTarget): ShownTarget {
  const worse = states.indexOf(b.state) > states.indexOf(a.state) ? b : a;
  const newestFirst = [...a.last_errors, ...b.last_errors].toSorted((x, y) =>
    x.at < y.at ? 1 : -1,
  );
  const names = [...Object.keys(a.counts), ...Object.keys(b.counts)];
  return {
    ...worse,
    in_flight: a.in_flight + b.in_flight,
    limit: a.limit + b.limit,
    latency: a.latency.map(({ size, mean_ms, p95_ms }, at) => ({
      size,
      mean_ms: highest(mean_ms, b.latency[at]?.mean_ms ?? null),
      p95_ms: highest(p95_ms, b.latency[at]?.p95_ms ?? null),
    })),
    counts: Object.fromEntries(
      names.map((name) => [name, (a.counts[name] ?? 0) + (b.counts[name] ?? 0)]),
    ),
    last_errors: newestFirst.slice(0, Math.max(a.last_errors.length, b.last_errors.length)),
  };
}

const highest = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.max(a, b);
