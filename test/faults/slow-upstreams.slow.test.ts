/** Timeouts: requests that exceed a timeout are canceled, and slow ones within it are not. */

import { describe, expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import { fakeImage, type InjectedFault, type RecordedRequest } from "../fake-upstream.ts";
import { until } from "../until.ts";
import { eventsOf, expectError, rowOf, send, startFaultSetup } from "./faults-fixture.ts";

const shortTimeouts = startFaultSetup({
  settings: { VEXEL_EMBEDDINGS_TIMEOUT: "1", VEXEL_IMAGES_TIMEOUT: "1" },
});
const shortBodyTimeout = startFaultSetup({ settings: { VEXEL_BODY_TIMEOUT: "2" } });
closeAfterAll(shortTimeouts, shortBodyTimeout);

const timeout = {
  status: 504,
  type: "server_error",
  code: "upstream_timeout",
  error: "upstream_timeout",
} as const;

/** They run concurrently; each request gets the behavior that is scripted for its text. */
const slowBehaviors: readonly [string, InjectedFault][] = [
  ["when the response starts too late", { delayMs: 6_000 }],
  ["when the response never starts", { hang: "headers" }],
  ["when the response never ends", { hang: "body" }],
  ["when the response trickles", { trickle: { bytes: 2, everyMs: 20 } }],
  ["when an error response never arrives", { fail: "html", hang: "headers" }],
];
const containing =
  (behavior: string) =>
  ({ json, form }: RecordedRequest): boolean =>
    JSON.stringify(json ?? form ?? "").includes(behavior);

const outcomes = slowBehaviors.map(([behavior, fault]) => {
  shortTimeouts.fake.script(fault, { times: 2, when: containing(behavior) });
  const started = performance.now();
  return Promise.all([
    send.embeddings(shortTimeouts, { input: behavior }),
    send.image(shortTimeouts, { prompt: behavior }),
  ]).then((responses) => ({ responses, took: performance.now() - started }));
});

describe("a request that exceeds its timeout fails, and is canceled at the upstream,", () => {
  test.each(slowBehaviors.map(([behavior], at) => [behavior, at] as const))(
    "%s",
    async (behavior, at) => {
      const { responses, took } = await outcomes[at]!;
      expect(took).toBeWithin(1_000, 5_000);
      for (const response of responses) {
        const error = await expectError(shortTimeouts, response, timeout);
        expect(error.message).toBe("The upstream did not respond within 1 s.");
      }
      const received = () => shortTimeouts.fake.requests.filter(containing(behavior));
      await until(() => received().length === 2 && received().every(({ aborted }) => aborted));
    },
  );
});

const silent = { delayMs: 5_000 };
shortBodyTimeout.fake.script(silent, { times: 3, when: containing("a slow otter") });
shortBodyTimeout.fake.script({ eventDelayMs: 5_000 }, { when: containing("an otter in steps") });
const form = new FormData();
form.append("model", "image-model");
form.append("prompt", "a slow otter");
const source = fakeImage("source", 0, { format: "png", width: 16, height: 16 });
form.append("image", new Blob([new Uint8Array(source)]), "source.png");
const generated = send.image(shortBodyTimeout, { prompt: "a slow otter" });
const edited = send.edit(shortBodyTimeout, form);
const streamed = send.image(shortBodyTimeout, { prompt: "a slow otter", stream: true });
const inSteps = send.image(shortBodyTimeout, {
  prompt: "an otter in steps",
  stream: true,
  partial_images: 1,
});
const image = Buffer.from(
  fakeImage("a slow otter", 0, { format: "png", width: 1024, height: 1024 }),
).toString("base64");

describe("after 5 seconds without bytes, although the body timeout is 2 seconds, the gateway delivers", () => {
  test.each([
    ["an image", generated],
    ["an edited image", edited],
  ])("%s", async (_, request) => {
    const response = await request;
    expect(await response.json()).toMatchObject({ data: [{ b64_json: image }] });
    expect(rowOf(shortBodyTimeout, response)).toMatchObject({ status: 200, images: 1 });
    expect(rowOf(shortBodyTimeout, response).latencyMs).toBeGreaterThan(4_900);
  });

  test("the first event of a stream", async () => {
    const events = eventsOf(await (await streamed).text());
    expect(events.map(({ data }) => data.b64_json)).toEqual([image]);
  });

  test("the next event of a stream", async () => {
    const response = await inSteps;
    const events = eventsOf(await response.text());
    expect(events.map(({ event }) => event)).toEqual([
      "image_generation.partial_image",
      "image_generation.completed",
    ]);
    expect(rowOf(shortBodyTimeout, response)).toMatchObject({ status: 200, images: 1 });
  });
});
