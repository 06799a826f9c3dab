/** Images that may have been generated and billed without a response are not requested again, and they are counted. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { breaks, sameAs, slowDown, startFixture } from "./fill-missing-fixture.ts";

const { generate, close, east, reset, north, row, stream, west } = startFixture();
beforeEach(reset);
afterAll(close);

describe("an image that may have been generated", () => {
  test("is not requested from another target, and the row says that it may have been billed", async () => {
    east.respondInstead({ 2: breaks });
    const { images, missing } = await generate();
    sameAs(images, east.made);
    expect(missing).toBe("1; error=upstream_error");
    expect(west.requests).toHaveLength(0);
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
    expect(west.requests).toHaveLength(0);
    expect(row()).toMatchObject({ cost: 1.5, estimatedCost: 0.5 });
    expect(row()?.steps).toContain("upstream_error for 1 of 4, may have been billed");
  });

  test("does not prevent retries of images that cannot have been generated", async () => {
    east.respondInstead({ 1: slowDown, 2: breaks });
    const { images, missing } = await generate();
    sameAs(images, east.made, west.made);
    expect(missing).toBe("1; error=upstream_error");
    expect(west.requests).toHaveLength(1);
    expect(row()).toMatchObject({ images: 3, attempts: 2, cost: 1.25, estimatedCost: 0.5 });
  });

  test("is requested again if the model is configured so, and is charged for both targets", async () => {
    east.respondInstead({ 2: breaks });
    const { images, missing } = await generate({ model: "reckless" });
    expect([images.length, missing]).toEqual([4, null]);
    expect(west.made).toHaveLength(1);
    expect(row()).toMatchObject({ images: 4, attempts: 2, cost: 1.75, estimatedCost: 0.5 });
  });

  test("is charged once for a target that failed the whole request, whichever target fills it afterwards", async () => {
    east.respond = breaks;
    north.respondInstead({ 1: slowDown });
    const { images, missing } = await generate({ model: "reckless-three" });
    sameAs(images, north.made, west.made);
    expect([images.length, missing]).toEqual([4, null]);
    // Four images at the most expensive target reserve 4 dollars.
    expect(row()).toMatchObject({ attempts: 3, cost: 3.25, estimatedCost: 4 });
  });

  test("prevents a retry of the whole request when no image arrived", async () => {
    east.respondInstead({ 0: slowDown, 1: slowDown, 2: breaks, 3: slowDown });
    const { status } = await generate();
    expect(status).toBe(502);
    expect(west.requests).toHaveLength(0);
    expect(row()).toMatchObject({ error: "upstream_error", cost: null, estimatedCost: 2 });
    expect(row()?.steps).toContain("upstream_rate_limit for 3 of 4");
  });
});
