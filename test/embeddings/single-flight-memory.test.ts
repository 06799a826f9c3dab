/** Memory of served requests: a minor garbage collection must free them, although they were in a long-lived map. */

import { edenGC, fullGC } from "bun:jsc";
import { expect, test } from "bun:test";
import { type InFlightQuery, SingleFlight } from "../../server/embeddings/single-flight.ts";
import { modelWithTargets, requestFor, targetNamed } from "./stage-fixture.ts";

const model = modelWithTargets(targetNamed("first"));
const inFlight = 32;

test("a minor garbage collection frees the requests that were served since the last one", async () => {
  const singleFlight = new SingleFlight();
  const requests: WeakRef<object>[] = [];
  const started: { query: InFlightQuery; key: string }[] = [];
  const serve = (key: string): void => {
    const request = requestFor([key], model);
    requests.push(new WeakRef(request));
    started.push({ query: singleFlight.start(request, [key]), key });
    if (started.length <= inFlight) return;
    const { query, key: served } = started.shift()!;
    singleFlight.end(query, [served]);
  };
  fullGC();
  for (let cycle = 0; cycle < 4; cycle++) {
    for (let at = 0; at < 1000; at++) {
      serve(`input ${cycle} ${at}`);
      // A weak reference holds its target until the end of the turn of the event loop.
      if (at % 100 === 0) await Bun.sleep(0);
    }
    await Bun.sleep(0);
    edenGC();
  }
  const alive = requests.filter((request) => request.deref() !== undefined).length;
  // Requests in flight at a collection survive it. If queries kept their owners, 3,000 requests would survive.
  expect(alive).toBeLessThan(1000);
});
