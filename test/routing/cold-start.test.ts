/** Cold start: after a start no latency is known, and a hanging target is detected all the same. */
import { afterEach, expect, test } from "bun:test";
import { expectVectors } from "../faults/faults-fixture.ts";
import { arrange, closeArranged } from "./routing-gateway-fixture.ts";

afterEach(closeArranged);

test("a target that hangs from the start holds nobody up for long, once another has answered", async () => {
  const { fakes, embed } = arrange({ upstreams: 2, ofVectors: ", cache: false, batch: false" });
  fakes[0]!.script({ delayMs: 30_000 }, { times: Number.POSITIVE_INFINITY });
  const began = performance.now();
  await Promise.all(Array.from({ length: 10 }, async () => expectVectors(await embed())));
  expect(fakes[0]!.requests.length).toBeGreaterThan(0);
  expect(performance.now() - began).toBeLessThan(10_000);
}, 30_000);
