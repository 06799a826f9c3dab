/** Cold start: after a start no latency is known, and a hanging target is detected all the same. */
import { afterEach, expect, test } from "bun:test";
import { expectVectors } from "../faults/faults-fixture.ts";
import { arrange, closeSetups } from "./routing-gateway-fixture.ts";

afterEach(closeSetups);

test("a target that hangs from the start delays no request for long once another target has responded", async () => {
  const { fakes, embed } = arrange({
    upstreams: 2,
    embeddingModelFields: ", cache: false, batch: false",
  });
  fakes[0]!.script({ delayMs: 30_000 }, { times: Number.POSITIVE_INFINITY });
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: 10 }, async () => expectVectors(await embed())));
  expect(fakes[0]!.requests.length).toBeGreaterThan(0);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});
