/** A stream with missing images says so at its end, is billed once, and has its cost in the ledger. */

import { beforeEach, describe, expect, test } from "bun:test";
import { fanOut } from "../../server/images/fan-out.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { ImageEvent } from "../../server/upstream/contract.ts";
import { base64Of, grayImage } from "../conformance/arrange.ts";
import { eventsOf } from "../faults/faults-fixture.ts";
import { testKey } from "../harness.ts";
import { until } from "../until.ts";
import { startImageGateway } from "./image-gateway-fixture.ts";
import { completedWith, sent, slowDown } from "./partial-failures-fixture.ts";

interface SentRequest {
  readonly n?: number;
  readonly stream?: boolean;
}

let calls: SentRequest[] = [];
let respond: (body: SentRequest, call: number) => Response | Promise<Response>;

const image = (seed: string) => base64Of(grayImage(seed, 1024));
const whole = (...images: readonly string[]) =>
  Response.json({ created: 1, data: images.map((b64_json) => ({ b64_json })) });

const { gateway, generate: send } = startImageGateway({
  model: "d3",
  respond: async (request) => {
    const body = (await request.json()) as SentRequest;
    return respond(body, calls.push(body) - 1);
  },
  yaml: (url) => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${url}/v1", apiKey: x }
  - { id: house, kind: openai-compatible, baseUrl: "${url}/v1" }
models:
  - { id: d3, kind: image, targets: [{ upstream: fake, model: dall-e-3 }], price: { image: 0.5 } }
  - { id: g1, kind: image, targets: [{ upstream: fake, model: gpt-image-1 }], price: { image: 0.5 } }
  - { id: house, kind: image, targets: [{ upstream: house, model: image-model }], price: { image: 0.5 } }
  - { id: strict, kind: image, parameters: strict, targets: [{ upstream: house, model: image-model }] }`,
});
beforeEach(() => {
  calls = [];
  gateway.resetTargets();
});

const generate = (body: object, headers = {}) =>
  send({ prompt: crypto.randomUUID(), stream: true, ...body }, headers);
async function read(response: Response) {
  const text = await response.text();
  expect(response.status, text).toBe(200);
  const events = eventsOf(text);
  const error = events.find(({ event }) => event === "error")?.data.error;
  const images = events.filter(({ event }) => event?.endsWith(".completed"));
  expect(events.at(-1)?.event).toBe(error ? "error" : "image_generation.completed");
  return {
    images: images.map(({ data }) => data.b64_json as string),
    error: error as { code: string; message: string } | undefined,
  };
}
const everySecondFails = (_: SentRequest, call: number) =>
  call % 2 === 1 ? slowDown() : whole(image(`${call}`));

describe("when some of several upstream requests fail", () => {
  test("the same Idempotency-Key replays the same stream, and nothing is billed again", async () => {
    respond = everySecondFails;
    const key = { "idempotency-key": crypto.randomUUID() };
    const first = await generate({ n: 4, prompt: "paid" }, key);
    const text = await first.text();
    expect(eventsOf(text).map(({ event }) => event)).toEqual([
      "image_generation.completed",
      "image_generation.completed",
      "error",
    ]);
    const second = await generate({ n: 4, prompt: "paid" }, key);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect(await second.text()).toBe(text);
    expect(calls).toHaveLength(4);
  });

  test("a client that disconnects can fetch the generated images", async () => {
    const held = Promise.withResolvers<void>();
    respond = async (body, call) => {
      await held.promise;
      return everySecondFails(body, call);
    };
    const controller = new AbortController();
    const id = crypto.randomUUID();
    const headers = { authorization: `Bearer ${testKey}`, "content-type": "application/json" };
    const disconnected = fetch(`${gateway.url}/v1/images/generations`, {
      method: "POST",
      headers: { ...headers, "x-client-request-id": id },
      body: JSON.stringify({ model: "d3", prompt: "left", n: 4, stream: true }),
      signal: controller.signal,
    }).catch(() => "the test disconnected");
    await until(() => calls.length === 4);
    controller.abort();
    await disconnected;
    const getResult = () => fetch(`${gateway.url}/v1/images/results/${id}`, { headers });
    while ((await getResult()).status !== 202) await Bun.sleep(5);
    held.resolve();
    let found = await getResult();
    for (; found.status === 202; found = await getResult()) await Bun.sleep(5);
    const { images, error } = await read(found);
    expect(images).toHaveLength(2);
    expect(error?.message).toStartWith("2 of 4 images are missing.");
  });

  test("the error says how many are missing and keeps its code, and generated images have their cost", async () => {
    respond = everySecondFails;
    const { images, error } = await read(await generate({ n: 4 }));
    expect(images).toHaveLength(2);
    expect(error?.code).toBe("rate_limit_exceeded");
    expect(error?.message).toStartWith("2 of 4 images are missing.");
    expect(gateway.rows().at(-1)).toMatchObject({ images: 2, cost: 1, status: 429 });
  });

  test("a stream that ends early does not fail the others", async () => {
    const broken = new GatewayError("upstream_unreachable", "It broke.");
    const later = Promise.withResolvers<void>();
    async function* breaks(): AsyncGenerator<ImageEvent> {
      yield { type: "partial", image: { kind: "base64", base64: "" } };
      later.resolve();
      throw broken;
    }
    async function* comes(): AsyncGenerator<ImageEvent> {
      await later.promise;
      await Bun.sleep(5);
      yield { type: "completed", image: { kind: "base64", base64: "the image" } };
    }
    const streams = [breaks(), comes()];
    const query = { model: "m", prompt: "x", stream: true, options: { n: 2 }, extraFields: {} };
    const response = await fanOut(
      { query, requestCounts: [1, 1] },
      {
        send: async () => ({ kind: "stream", events: streams.shift()! }),
        isStreaming: true,
        onMissing: () => undefined,
      },
    );
    if (response.kind !== "stream") throw new Error("it was a stream");
    const came: string[] = [];
    const reading = (async () => {
      for await (const { type } of response.events) came.push(type);
    })();
    expect(await reading.catch((error: unknown) => error)).toBe(broken);
    expect(came).toEqual(["partial", "completed"]);
  });
});

describe("an upstream that generates fewer than requested", () => {
  test("is reported at the end of its stream", async () => {
    respond = () => sent(completedWith(image("only")));
    const { images, error } = await read(await generate({ model: "g1", n: 3 }));
    expect(images).toEqual([image("only")]);
    expect(error?.code).toBe("upstream_invalid");
    expect(error?.message).toStartWith("2 of 3 images are missing.");
    expect(gateway.rows().at(-1)).toMatchObject({ images: 1, cost: 0.5 });
  });

  test("is reported at the end of the client's stream, if it does not stream itself", async () => {
    respond = () => whole(image("one"), image("two"));
    const { images, error } = await read(await generate({ model: "g1", n: 3 }));
    expect(images).toHaveLength(2);
    expect(error?.message).toStartWith("1 of 3 images is missing.");
  });

  test("is called again for the missing images if it generates one at a time, in a stream as well", async () => {
    respond = (_, call) => sent(completedWith(image(`${call}`)));
    const { images, error } = await read(await generate({ model: "house", n: 3 }));
    expect(new Set(images).size).toBe(3);
    expect(error).toBeUndefined();
    expect(calls.map(({ n }) => n)).toEqual([3, undefined, undefined]);
    expect(gateway.rows().at(-1)).toMatchObject({ images: 3, cost: 1.5, status: 200 });
  });

  test("is not called again if the policy is strict", async () => {
    respond = () => sent(completedWith(image("only")));
    const { error } = await read(await generate({ model: "strict", n: 3 }));
    expect(error?.message).toStartWith("2 of 3 images are missing.");
    expect(calls).toHaveLength(1);
  });

  test("is reported in a header of the buffered response, if it streams although the client did not request it", async () => {
    respond = () => sent(completedWith(image("only")));
    const response = await generate({ model: "g1", n: 3, stream: false });
    expect(response.headers.get("vexel-missing")).toBe("2; error=upstream_invalid");
    expect(await response.json()).toMatchObject({ data: [{ b64_json: image("only") }] });
  });
});

describe("an invalid image", () => {
  test("among others of a stream does not fail them, and is billed", async () => {
    respond = () =>
      sent(completedWith(image("a")), completedWith("aGVsbG8="), completedWith(image("b")));
    const { images, error } = await read(await generate({ model: "g1", n: 3 }));
    expect(images).toEqual([image("a"), image("b")]);
    expect(error?.message).toContain("1 of 3 images is missing.");
    expect(error?.message).toContain("not an image");
    expect(gateway.rows().at(-1)).toMatchObject({ images: 2, cost: 1.5 });
  });

  test("among others of a buffered response does not fail them either", async () => {
    respond = () => whole(image("a"), "aGVsbG8=", image("b"));
    const { images, error } = await read(await generate({ model: "g1", n: 3 }));
    expect(images).toEqual([image("a"), image("b")]);
    expect(error?.message).toContain("not an image");
  });

  test("in place of a partial image is dropped", async () => {
    const partialImage = { type: "image_generation.partial_image", b64_json: "aGVsbG8=" };
    respond = () => sent(partialImage, completedWith(image("a")));
    const { images, error } = await read(await generate({ model: "g1", partial_images: 1 }));
    expect([images, error]).toEqual([[image("a")], undefined]);
  });
});
