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
  // It never responds: a request that waited for it would fail with a timeout.
  fakes[0]!.script({ hang: "headers" }, { times: Number.POSITIVE_INFINITY });
  await Promise.all(Array.from({ length: 10 }, async () => expectVectors(await embed())));
  expect(fakes[0]!.requests.length).toBeGreaterThan(0);
});
