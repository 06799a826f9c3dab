/** Hedged requests through a gateway with two upstreams: embeddings requests are hedged, image requests never are. */

import { afterAll, beforeEach, expect, test } from "bun:test";
import { expectVectors, rowOf, send, startFaultSetup } from "../faults/faults-fixture.ts";
import { until } from "../until.ts";

const pair = startFaultSetup({ upstreams: 2 });
const [first, second] = pair.fakes as [(typeof pair.fakes)[0], (typeof pair.fakes)[0]];
beforeEach(() => {
  for (const fake of pair.fakes) fake.clear();
});
afterAll(() => pair.close());

test("an embeddings request is hedged to the second upstream when the first is slow, and the first is canceled", async () => {
  for (let at = 0; at < 40; at++) await expectVectors(await send.embeddings(pair));
  const usual = second.requests.length;
  first.script({ hang: "headers" });
  const response = await send.embeddings(pair);
  await expectVectors(response);
  expect(second.requests).toHaveLength(usual + 1);
  expect(rowOf(pair, response)).toMatchObject({
    status: 200,
    error: null,
    attempts: 2,
    upstream: "hidden-1",
  });
  await until(() => first.requests.at(-1)!.aborted);
});

test("the number of hedges stays within the hedge budget, however slow the first upstream is", async () => {
  for (let at = 0; at < 40; at++) await expectVectors(await send.embeddings(pair));
  for (const fake of pair.fakes) fake.clear();
  first.script({ delayMs: 60 }, { times: Infinity });
  const requests = Array.from({ length: 100 }, async () =>
    expectVectors(await send.embeddings(pair)),
  );
  await Promise.all(requests);
  expect(second.requests.length).toBeLessThanOrEqual(0.05 * 100 + 10);
});

test("an image request is not hedged", async () => {
  for (let at = 0; at < 24; at++) {
    expect((await send.image(pair, { size: "1024x1024" })).status).toBe(200);
  }
  first.script({ delayMs: 300 });
  const response = await send.image(pair);
  expect(response.status).toBe(200);
  expect(rowOf(pair, response)).toMatchObject({ attempts: 1, upstream: "hidden-0" });
  expect(second.requests).toHaveLength(0);
});
