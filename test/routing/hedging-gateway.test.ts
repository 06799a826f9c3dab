/** Two upstreams behind a model: a slow moment of the first is not the caller's, and a picture is never ordered twice for it. */
import { afterAll, beforeEach, expect, test } from "bun:test";
import { ask, expectVectors, rowOf, startBroken, until } from "../faults/faults-fixture.ts";

const pair = startBroken({ upstreams: 2 });
const [first, second] = pair.fakes as [(typeof pair.fakes)[0], (typeof pair.fakes)[0]];
beforeEach(() => {
  for (const fake of pair.fakes) fake.clear();
});
afterAll(() => pair.close());

test("vectors come from the second upstream when the first hesitates, which is then let go", async () => {
  for (let at = 0; at < 40; at++) await expectVectors(await ask.embeddings(pair));
  const usual = second.requests.length;
  first.script({ delayMs: 2000 });
  const began = performance.now();
  const response = await ask.embeddings(pair);
  await expectVectors(response);
  expect(performance.now() - began).toBeLessThan(1500);
  expect(second.requests).toHaveLength(usual + 1);
  expect(rowOf(pair, response)).toMatchObject({
    status: 200,
    error: null,
    attempts: 2,
    upstream: "hidden-1",
  });
  await until(() => first.requests.at(-1)!.aborted);
});

test("extra calls stay few however slow the first upstream becomes", async () => {
  for (let at = 0; at < 40; at++) await expectVectors(await ask.embeddings(pair));
  for (const fake of pair.fakes) fake.clear();
  first.script({ delayMs: 60 }, { times: Infinity });
  const calls = Array.from({ length: 100 }, async () => expectVectors(await ask.embeddings(pair)));
  await Promise.all(calls);
  expect(second.requests.length).toBeLessThanOrEqual(0.05 * 100 + 10);
});

test("a picture is waited for", async () => {
  for (let at = 0; at < 24; at++) {
    expect((await ask.picture(pair, { size: "1024x1024" })).status).toBe(200);
  }
  first.script({ delayMs: 300 });
  const response = await ask.picture(pair);
  expect(response.status).toBe(200);
  expect(rowOf(pair, response)).toMatchObject({ attempts: 1, upstream: "hidden-0" });
  expect(second.requests).toHaveLength(0);
});
