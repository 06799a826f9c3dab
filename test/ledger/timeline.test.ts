/** The timeline in the ledger row: waits and attempts with their times, and nothing for cached requests. */
import { afterEach, expect, test } from "bun:test";
import { RequestRecord } from "../../server/request/request-record.ts";
import { readTimeline, type TimedAttempt, writeTimeline } from "../../server/request/timeline.ts";
import type { Target } from "../../server/upstream/contract.ts";
import { targetNamed } from "../embeddings/stage-fixture.ts";
import type { Fake } from "../fake-upstream.ts";
import { expectVectors } from "../faults/faults-fixture.ts";
import { startGatewayWithFake } from "../http/gateway-fixture.ts";
import { arrange, closeSetups } from "../routing/routing-gateway-fixture.ts";

afterEach(closeSetups);

const always = { times: Number.POSITIVE_INFINITY };

/** A request that arrived at 1000 ms and took 50 ms. */
function recordOf(target?: Target, timedAttempts?: TimedAttempt[]): RequestRecord {
  const record = new RequestRecord("req", "embeddings", 0);
  record.startedAt = 1000;
  record.outcome.latencyMs = 50;
  record.routing.target = target;
  record.routing.timedAttempts = timedAttempts;
  return record;
}

test("a failed attempt, with the status, code and request id of the vendor, and the failover after it are in the timeline", async () => {
  const { gateway, fakes, embed } = arrange({ upstreams: 2 });
  const [bad] = fakes as [Fake];
  bad.script(
    {
      response: {
        status: 502,
        headers: { "content-type": "application/json", "x-request-id": "vendor-7" },
        body: JSON.stringify({ error: { message: "no", type: "server_error", code: "bad_node" } }),
      },
    },
    always,
  );
  while (bad.requests.length === 0) await expectVectors(await embed());
  const upstream = { status: 502, code: "bad_node", requestId: "vendor-7", message: "no" };
  const { attempts } = readTimeline(gateway.rows().at(-1)!.timeline);
  const failed = { target: "u0/text-embedding-3-small", error: "upstream_error" };
  expect(attempts).toMatchObject([
    { ...failed, isHedge: false, upstream, selection: { by: "p2c", compared: 2 } },
    { isHedge: false, selection: { by: "failover", compared: 1, isLaterTier: false, failed } },
  ]);
  const [first, second] = attempts;
  expect(second).not.toHaveProperty("error");
  expect(second!.startMs).toBeGreaterThanOrEqual(first!.startMs + first!.durationMs - 0.2);
});

test("a request that is served from the cache stores no timeline", async () => {
  const setup = startGatewayWithFake({ settings: { VEXEL_CACHE_BYTES: "16000000" } });
  const { gateway } = setup;
  const body = { model: "text-embedding-3-small", input: "the same text twice" };
  for (let request = 0; request < 2; request++) {
    expect((await gateway.post("/v1/embeddings", body)).status).toBe(200);
  }
  const [first, cached] = gateway.rows();
  expect(first!.timeline).not.toBeNull();
  expect(cached).toMatchObject({ cachedInputs: 1, inputs: 1, timeline: null });
  await setup.close();
});

test("one successful attempt takes few bytes", () => {
  const target = targetNamed("a");
  const attempt = { target, startedAt: 1000.42, endedAt: 1032.5, isHedge: false };
  const text = writeTimeline(recordOf(target, [{ ...attempt, error: undefined, queuedMs: 0 }]));
  expect(text).toBe('{"a":[[0.4,32.1]]}');
});

test("a hedged attempt that lost is canceled, and a stream that still runs is not", () => {
  const [winner, loser] = [targetNamed("winner"), targetNamed("loser")];
  const running = { endedAt: undefined, error: undefined, queuedMs: 0 };
  const text = writeTimeline(
    recordOf(winner, [
      { ...running, target: loser, startedAt: 1000, isHedge: false },
      { ...running, target: winner, startedAt: 1020, isHedge: true },
    ]),
  );
  expect(readTimeline(text).attempts).toEqual([
    {
      startMs: 0,
      durationMs: 50,
      error: "canceled",
      target: "loser/their-model",
      queuedMs: 0,
      isHedge: false,
    },
    { startMs: 20, durationMs: 30, queuedMs: 0, isHedge: true },
  ]);
});

test("the time in the queue, adapted and dropped parameters are in the timeline", () => {
  const record = recordOf();
  record.queuedMs = 12.34;
  record.deviations = { adapted: ["size"], dropped: ["user"] };
  expect(readTimeline(writeTimeline(record))).toMatchObject({
    queuedMs: 12.3,
    adapted: ["size"],
    dropped: ["user"],
  });
});

test("a damaged timeline is read as an empty one", () => {
  expect(readTimeline("{").attempts).toEqual([]);
});
