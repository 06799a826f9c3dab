/** Whatever fails at the end of a request, its budget reservation is released and its client gets the response. */

import { afterEach, expect, spyOn, test } from "bun:test";
import { RequestLifetime } from "../../server/pipeline/request-lifetime.ts";
import { Deadline } from "../../server/request/deadline.ts";
import { closeAfterAll } from "../clean-up.ts";
import { startFake } from "../fake-upstream.ts";
import { startGateway, testKey } from "../harness.ts";

const fake = startFake();
// Ten bytes are reserved as ten tokens, $0.01: the budget has capacity for one request at a time.
const gateway = startGateway({
  settings: { VEXEL_MAX_QUEUE: "0" },
  yaml: `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }
models:
  - { id: embedder, kind: embedding, cache: false, price: { input: 1000 }, targets: [{ upstream: fake, model: text-embedding-3-small }] }
keys:
  - { name: test, key: ${testKey}, budget: { day: 0.0225 } }
`,
});
const restores: (() => void)[] = [];
afterEach(() => {
  for (const restore of restores.splice(0)) restore();
});
closeAfterAll(gateway, fake);

const embed = () =>
  gateway.post("/v1/embeddings", { model: "embedder", input: "0123456789", dimensions: 4 });

test("a reservation whose settlement fails is released, so the next request has the budget", async () => {
  let failures = 0;
  const { settle } = RequestLifetime.prototype;
  const spy = spyOn(RequestLifetime.prototype, "settle").mockImplementation(function (
    this: RequestLifetime,
    status,
    error,
  ) {
    const { reservation } = this.record;
    if (reservation && !this.isSettled) {
      let isFirst = true;
      this.record.reservation = {
        ...reservation,
        release: () => {
          if (!isFirst) return reservation.release();
          isFirst = false;
          failures++;
          throw new Error("the settlement failed");
        },
      };
    }
    return settle.call(this, status, error);
  });
  restores.push(() => spy.mockRestore());
  for (let time = 0; time < 3; time++) {
    const response = await embed();
    expect(response.status, await response.text()).toBe(200);
  }
  expect(failures).toBe(3);
});

test("a client gets its response although ending its deadline fails", async () => {
  const spy = spyOn(Deadline.prototype, "end").mockImplementation(() => {
    throw new Error("a listener failed");
  });
  restores.push(() => spy.mockRestore());
  const response = await embed();
  expect(response.status, await response.text()).toBe(200);
  expect(spy).toHaveBeenCalled();
});
