/**
 * Where a target fails some images of a request, the others are delivered, the response reports the missing ones, and
 * the ledger row says what was or may have been billed.
 */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { base64Of, grayImage } from "../conformance/arrange.ts";
import {
  breaks,
  completedWith,
  limitFrame,
  sameAs,
  sent,
  slowDown,
  startFixture,
} from "./partial-failures-fixture.ts";

const { generate, close, east, reset, gateway, row, stream, west } = startFixture();
beforeEach(reset);
afterAll(close);

describe("two of four images fail with a rate limit", () => {
  beforeEach(() => {
    east.respondInstead({ 1: slowDown, 3: slowDown });
  });

  test("the others are delivered, and no other target is asked for the missing ones", async () => {
    const { status, images, missing, adapted } = await generate();
    sameAs(images, east.made);
    expect([status, missing, adapted]).toEqual([200, "2; error=upstream_rate_limit", "n"]);
    expect(east.requests).toHaveLength(4);
    expect(west.requests).toHaveLength(0);
    expect(row()).toMatchObject({
      status: 200,
      images: 2,
      attempts: 1,
      cost: 1,
      estimatedCost: null,
      inputTokens: 20,
      outputTokens: 200,
      steps: "east/dall-e-3: generated; east/dall-e-3: upstream_rate_limit for 2 of 4",
    });
  });

  test("a stream ends with the number of missing images", async () => {
    const { images, error } = await stream();
    sameAs(images, east.made);
    expect(error?.code).toBe("rate_limit_exceeded");
    expect(error?.message).toStartWith("2 of 4 images are missing.");
    expect(row()).toMatchObject({ status: 429, images: 2, cost: 1 });
  });
});

describe("all images fail", () => {
  test("with a rate limit: the other target generates them", async () => {
    east.respond = slowDown;
    const { images, missing } = await generate();
    sameAs(images, west.made);
    expect([images.length, missing]).toEqual([4, null]);
    expect(row()).toMatchObject({ upstream: "west", attempts: 2, cost: 1, estimatedCost: null });
  });

  test("and may have been billed: the model decides whether the other target generates them", async () => {
    east.respond = breaks;
    expect((await generate()).status).toBe(502);
    expect(west.requests).toHaveLength(0);
    gateway.resetTargets();
    const { images } = await generate({ model: "reckless" });
    sameAs(images, west.made);
    expect(row()).toMatchObject({ attempts: 2, cost: 1, estimatedCost: 2 });
  });

  test("and one of them may have been billed: the request is not sent to the other target", async () => {
    east.respondInstead({ 0: slowDown, 1: slowDown, 2: breaks, 3: slowDown });
    const { status } = await generate();
    expect(status).toBe(502);
    expect(west.requests).toHaveLength(0);
    expect(row()).toMatchObject({ error: "upstream_error", cost: null, estimatedCost: 0.5 });
    expect(row()?.steps).toContain("upstream_rate_limit for 3 of 4");
  });
});

describe("an image that may have been generated", () => {
  test("is charged by its estimate, and the row says that it may have been billed", async () => {
    east.respondInstead({ 2: breaks });
    const { images, missing } = await generate();
    sameAs(images, east.made);
    expect(missing).toBe("1; error=upstream_error");
    expect(row()).toMatchObject({ attempts: 1, cost: 1.5, estimatedCost: 0.5 });
    expect(row()?.steps).toBe(
      "east/dall-e-3: generated; east/dall-e-3: upstream_error for 1 of 4, may have been billed",
    );
  });

  test("is reported in a stream as well", async () => {
    east.respondInstead({ 2: breaks });
    const { images, error } = await stream();
    sameAs(images, east.made);
    expect(error?.code).toBe("upstream_error");
    expect(row()).toMatchObject({ cost: 1.5, estimatedCost: 0.5 });
    expect(row()?.steps).toContain("upstream_error for 1 of 4, may have been billed");
  });
});

test("a stream that ends with a rate limit after an image says how many are missing, and is not sent again", async () => {
  const only = base64Of(grayImage("only", 512));
  west.respond = () => sent(completedWith(only), limitFrame);
  const { images, error } = await stream({ model: "several", n: 3 });
  expect(images).toEqual([only]);
  expect(error?.message).toStartWith("2 of 3 images are missing.");
  expect(east.requests).toHaveLength(0);
  expect(row()?.steps).toContain("upstream_rate_limit for 2 of 3, may have been billed");
});

test("images that are requested one by one have their own seeds", async () => {
  // Returns one image per request, which the first request shows.
  east.respond = (body) => east.generate({ ...body, n: 1 });
  const { images, missing } = await generate({ model: "house", seed: 7 });
  expect([images.length, missing]).toEqual([4, null]);
  const seeds = east.requests.map(({ seed }) => seed);
  expect(seeds).toHaveLength(4);
  expect(new Set(seeds).size).toBe(4);
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
