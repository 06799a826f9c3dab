/** The timeline of a request explains all of its time: the queue, the attempts and the waits between them. */
import { expect, test } from "bun:test";
import { barsOf } from "../../console/src/features/requests/timeline-bars.ts";
import type { Translate } from "../../console/src/i18n/messages.ts";
import type { RequestDetail } from "../../contract/admin.ts";

const attempt = (start_ms: number, duration_ms: number, by: string | null = null) => ({
  target: "openai/a",
  start_ms,
  duration_ms,
  queued_ms: 0,
  is_hedge: false,
  error: "upstream_error",
  upstream_status: null,
  upstream_code: null,
  upstream_request_id: null,
  upstream_message: null,
  selection: by && { by, candidates: 1, tier: null, is_later_tier: false, failed: null },
});

const keyOf = ((key: string) => key) as unknown as Translate;

const barsOfRequest = (queued_ms: number, timeline: readonly object[]) =>
  barsOf({ queued_ms, timeline } as unknown as RequestDetail, keyOf).map(
    ({ label, startMs, durationMs }) => [label, startMs, durationMs],
  );

test("a wait before a retry is a bar of its own", () => {
  const timeline = [attempt(5, 20), attempt(225, 20, "retry"), attempt(545, 24, "retry")];
  expect(barsOfRequest(3, timeline)).toEqual([
    ["request.timeline.queued", 0, 3],
    ["openai/a", 5, 20],
    ["request.timeline.retryWait", 25, 200],
    ["openai/a", 225, 20],
    ["request.timeline.retryWait", 245, 300],
    ["openai/a", 545, 24],
  ]);
});

test("a failover at once and attempts at the same time have no wait", () => {
  const timeline = [
    attempt(0, 100),
    attempt(40, 20, "hedge"),
    attempt(100.4, 50, "failover"),
    attempt(170, 5, "failover"),
  ];
  expect(barsOfRequest(0, timeline).map(([label, start]) => [label, start])).toEqual([
    ["openai/a", 0],
    ["openai/a", 40],
    ["openai/a", 100.4],
    ["request.timeline.wait", 150.4],
    ["openai/a", 170],
  ]);
});
