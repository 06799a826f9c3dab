/** Images that may have been generated and billed without a response are not requested again, and they are counted. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { breaks, openOrders, sameAs, slowDown } from "./fill-missing-fixture.ts";

const { ask, close, east, forget, north, row, stream, west } = openOrders();
beforeEach(forget);
afterAll(close);

describe("an image that may have been generated", () => {
  test("is not requested from another target, and the row says that it may have been billed", async () => {
    east.instead({ 2: breaks });
    const { pictures, missing } = await ask();
    sameAs(pictures, east.made);
    expect(missing).toBe("1; error=upstream_error");
    expect(west.asked).toHaveLength(0);
    expect(row()).toMatchObject({ attempts: 1, cost: 1.5, estimatedCost: 0.5 });
    expect(row()?.steps).toBe(
      "east/dall-e-3: generated; east/dall-e-3: upstream_error for 1 of 4, may have been billed",
    );
  });

  test("counts in a stream as well", async () => {
    east.instead({ 2: breaks });
    const { pictures, error } = await stream();
    sameAs(pictures, east.made);
    expect(error?.code).toBe("upstream_error");
    expect(west.asked).toHaveLength(0);
    expect(row()).toMatchObject({ cost: 1.5, estimatedCost: 0.5 });
    expect(row()?.steps).toContain("upstream_error for 1 of 4, may have been billed");
  });

  test("does not prevent retries of images that cannot have been generated", async () => {
    east.instead({ 1: slowDown, 2: breaks });
    const { pictures, missing } = await ask();
    sameAs(pictures, east.made, west.made);
    expect(missing).toBe("1; error=upstream_error");
    expect(west.asked).toHaveLength(1);
    expect(row()).toMatchObject({ images: 3, attempts: 2, cost: 1.25, estimatedCost: 0.5 });
  });

  test("is requested again where the model is configured so, and counts for both", async () => {
    east.instead({ 2: breaks });
    const { pictures, missing } = await ask({ model: "reckless" });
    expect([pictures.length, missing]).toEqual([4, null]);
    expect(west.made).toHaveLength(1);
    expect(row()).toMatchObject({ images: 4, attempts: 2, cost: 1.75, estimatedCost: 0.5 });
  });

  test("counts once for a target that failed the whole request, whichever target fills it after that", async () => {
    east.gives = breaks;
    north.instead({ 1: slowDown });
    const { pictures, missing } = await ask({ model: "reckless-three" });
    sameAs(pictures, north.made, west.made);
    expect([pictures.length, missing]).toEqual([4, null]);
    // Four pictures at the dearest target are held as 4 dollars.
    expect(row()).toMatchObject({ attempts: 3, cost: 3.25, estimatedCost: 4 });
  });

  test("prevents a retry of the whole request when no image arrived", async () => {
    east.instead({ 0: slowDown, 1: slowDown, 2: breaks, 3: slowDown });
    const { status } = await ask();
    expect(status).toBe(502);
    expect(west.asked).toHaveLength(0);
    expect(row()).toMatchObject({ error: "upstream_error", cost: null, estimatedCost: 2 });
    expect(row()?.steps).toContain("upstream_rate_limit for 3 of 4");
  });
});
