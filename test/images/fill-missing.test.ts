/**
 * Where one target fails some images of a request, the model's other targets generate those, and no more than those.
 */

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { base64Of, grayImage } from "../conformance/arrange.ts";
import { testKey } from "../harness.ts";
import { until } from "../until.ts";
import {
  breaks,
  completedWith,
  limitFrame,
  sameAs,
  sent,
  slowDown,
  startFixture,
} from "./fill-missing-fixture.ts";

const { generate, close, east, reset, gateway, north, row, stream, west } = startFixture();
beforeEach(reset);
afterAll(close);

describe("two of four images fail with a rate limit", () => {
  beforeEach(() => {
    east.respondInstead({ 1: slowDown, 3: slowDown });
  });

  test("the other target generates those two: no image is missing, and none was requested twice", async () => {
    const { images, missing, adapted } = await generate();
    sameAs(images.slice(0, 2), east.made);
    sameAs(images.slice(2), west.made);
    expect([missing, adapted]).toEqual([null, "n"]);
    expect(east.requests).toHaveLength(4);
    expect(west.requests.map(({ n }) => n)).toEqual([2]);
  });

  test("the row has the cost and the usage of both targets, and the failed step", async () => {
    const { response } = await generate();
    expect(response.usage).toMatchObject({ input_tokens: 40, output_tokens: 400 });
    expect(row()).toMatchObject({
      status: 200,
      images: 4,
      attempts: 2,
      cost: 1.5,
      estimatedCost: null,
      inputTokens: 40,
      outputTokens: 400,
      steps:
        "east/dall-e-3: generated; east/dall-e-3: upstream_rate_limit for 2 of 4; west/gpt-image-1: generated",
    });
  });

  test("metadata that differs between the images of both targets is not reported", async () => {
    const { response } = await generate();
    expect(response).toMatchObject({ output_format: "png" });
    expect(response).not.toHaveProperty("size");
  });

  test("in a stream, the images of the other target follow those of the first", async () => {
    const { images, error, missing } = await stream();
    sameAs(images.slice(0, 2), east.made);
    sameAs(images.slice(2), west.made);
    expect([error, missing]).toEqual([undefined, null]);
    expect(row()).toMatchObject({ status: 200, error: null, images: 4, attempts: 2, cost: 1.5 });
    expect(row()?.steps).toContain("east/dall-e-3: upstream_rate_limit for 2 of 4");
  });

  test("if the other target fails as well, images that arrived are delivered, and the others are reported as missing", async () => {
    west.respond = slowDown;
    const { status, images, missing } = await generate();
    sameAs(images, east.made);
    expect([status, missing]).toEqual([200, "2; error=upstream_rate_limit"]);
    expect(row()).toMatchObject({ upstream: "east", attempts: 2, images: 2, cost: 1 });
    expect(row()?.estimatedCost).toBeNull();
    expect(row()?.steps).toContain("west/gpt-image-1: upstream_rate_limit");
  });

  test("if the other target fails as well, a stream ends with the number of missing images", async () => {
    west.respond = slowDown;
    const { images, error } = await stream();
    sameAs(images, east.made);
    expect(error?.code).toBe("rate_limit_exceeded");
    expect(error?.message).toStartWith("2 of 4 images are missing.");
    expect(row()).toMatchObject({ status: 429, images: 2, cost: 1 });
  });

  test("if the other target may have generated them in vain, their cost is charged as well", async () => {
    west.respond = breaks;
    const { images, missing } = await generate();
    sameAs(images, east.made);
    expect(missing).toBe("2; error=upstream_error");
    // Four images at the most expensive target reserve 2 dollars.
    expect(row()).toMatchObject({ cost: 1, estimatedCost: 1, attempts: 2 });
  });

  test("a third target generates the images that the second does not", async () => {
    west.respond = slowDown;
    const { images, missing } = await generate({ model: "three" });
    sameAs(images, east.made, north.made);
    expect([images.length, missing]).toEqual([4, null]);
    expect(row()).toMatchObject({ attempts: 3, cost: 3, estimatedCost: null });
  });

  test("if the second target generates fewer than requested, they may be billed, so no third is called", async () => {
    west.respond = ({ n = 1 }) => west.generate({ n: n - 1 });
    const { images, missing } = await generate({ model: "three" });
    sameAs(images, east.made, west.made);
    expect([images.length, missing]).toEqual([3, "1; error=upstream_invalid"]);
    expect(north.requests).toHaveLength(0);
  });

  test("the other target may send its images as a stream, requested or not", async () => {
    const [one, other] = [base64Of(grayImage("one", 512)), base64Of(grayImage("other", 512))];
    west.respond = () => sent(completedWith(one), completedWith(other));
    const events = await stream();
    sameAs(events.images, east.made, [one, other]);
    expect(events.error).toBeUndefined();
    expect(row()).toMatchObject({ status: 200, images: 4, cost: 1.5 });
    for (const each of [east, west]) each.requests.length = 0;
    east.made.length = 0;
    gateway.resetTargets();
    const whole = await generate();
    sameAs(whole.images, east.made, [one, other]);
    expect(whole.missing).toBeNull();
    expect(row()).toMatchObject({ status: 200, images: 4, cost: 1.5 });
  });

  test("if the client disconnects while the other target is called, the row says so, and has the cost of the images that arrived", async () => {
    const held = Promise.withResolvers<Response>();
    west.respond = () => held.promise;
    const controller = new AbortController();
    const disconnected = fetch(`${gateway.url}/v1/images/generations`, {
      method: "POST",
      headers: { authorization: `Bearer ${testKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "fickle", prompt: "an otter", n: 4 }),
      signal: controller.signal,
    }).catch(() => "the test disconnected");
    await until(() => west.requests.length === 1);
    controller.abort();
    await disconnected;
    await until(() => row()?.model === "fickle");
    held.resolve(slowDown());
    expect(row()).toMatchObject({ error: "client_closed", cost: 1, attempts: 2 });
  });

  test("without another target, images that arrived are delivered", async () => {
    const { images, missing } = await generate({ model: "alone" });
    sameAs(images, east.made);
    expect(missing).toBe("2; error=upstream_rate_limit");
    expect(east.requests).toHaveLength(4);
    expect(row()?.steps).toContain("east/dall-e-3: upstream_rate_limit for 2 of 4");
  });
});

describe("one request for several images, in a stream that ends with a rate limit", () => {
  test("is not sent to another target once an image has arrived: the rest may have been generated", async () => {
    const only = base64Of(grayImage("only", 512));
    west.respond = () => sent(completedWith(only), limitFrame);
    const { images, error } = await stream({ model: "several", n: 3 });
    expect(images).toEqual([only]);
    expect(error?.message).toStartWith("2 of 3 images are missing.");
    expect(east.requests).toHaveLength(0);
    expect(row()?.steps).toContain("upstream_rate_limit for 2 of 3, may have been billed");
  });

  test("is sent to another target if no image has arrived", async () => {
    west.respond = () => sent(limitFrame);
    const { images, error } = await stream({ model: "several", n: 2 });
    sameAs(images, east.made);
    expect([images.length, error]).toEqual([2, undefined]);
    expect(row()).toMatchObject({
      status: 200,
      images: 2,
      attempts: 2,
      cost: 1,
      estimatedCost: null,
    });
  });
});

test("images of another target have their own seeds", async () => {
  // Returns one image per request, which the first request shows.
  east.respond = (body, call) => (call < 2 ? east.generate({ ...body, n: 1 }) : slowDown());
  const { images, missing } = await generate({ model: "house", seed: 7 });
  expect([images.length, missing]).toEqual([4, null]);
  const seeds = [...east.requests, ...west.requests].map(({ seed }) => seed);
  expect(seeds).toHaveLength(5);
  expect(new Set(seeds).size).toBe(5);
});

test("a client's link into a private network is rejected before any upstream is called, and the row says so", async () => {
  const response = await gateway.post("/v1/images/edits", {
    model: "house",
    prompt: "a hat",
    images: [{ image_url: "http://10.0.0.7/x.png" }],
  });
  expect(response.status).toBe(400);
  expect([...east.requests, ...west.requests]).toEqual([]);
  expect(row()).toMatchObject({ endpoint: "edits", attempts: 0, upstream: null, cost: null });
});
