/** Estimates of the cost of image requests. */
import { afterAll, expect, test } from "bun:test";
import type { ImageEstimate, Page, ShownModel } from "../../contract/admin.ts";
import { asOperator, startWithAdmin } from "../events/webhooks-fixture.ts";
import { configFor } from "../harness.ts";
import { expectError } from "../http/gateway-fixture.ts";

const gateway = startWithAdmin({
  yaml: configFor("http://127.0.0.1:1/v1").replace(/keys:[\s\S]*/, ""),
});
afterAll(() => gateway.close());

const defaults = { prompt: "a red boat", options: {}, references: 0, mask: false };
const send = (body: object): Promise<Response> =>
  asOperator(gateway.url, "/admin/api/image-estimates", "POST", { ...defaults, ...body });
const estimate = async (body: object): Promise<ImageEstimate> =>
  (await send(body)).json() as Promise<ImageEstimate>;

test("two images cost twice as much as one, and nothing is sent to an upstream", async () => {
  const one = await estimate({ model: "dall-e-3", options: { quality: "standard" } });
  const two = await estimate({ model: "dall-e-3", options: { quality: "standard", n: 2 } });
  expect(one).toEqual({
    object: "image_estimate",
    cost: 0.04,
    max_cost: 0.04,
    is_certain: true,
    refusal: null,
  });
  expect(two.cost).toBeCloseTo(0.08, 9);
  expect(gateway.rows()).toEqual([]);
});

test("an edit costs more with each reference image", async () => {
  const costs = await Promise.all(
    [1, 2].map(async (references) => (await estimate({ model: "gpt-image-2", references })).cost),
  );
  expect(costs[0]).toBeGreaterThan(0);
  expect(costs[1]).toBeGreaterThan(costs[0] ?? 0);
});

test("an estimate of a request that the gateway refuses has the reason, and no price", async () => {
  const refused: readonly [options: object, reason: string][] = [
    [{ quality: "banana" }, "banana"],
    [{ size: "9x9" }, "9x9"],
    [{ n: 99 }, "but got 99"],
    [{ n: "two" }, "'n'"],
  ];
  for (const [options, reason] of refused) {
    const { cost, refusal } = await estimate({ model: "image-model", options });
    expect([cost, refusal]).toEqual([null, expect.stringContaining(reason)]);
  }
});

test("a built-in model is free, and an embedding model is no image model", async () => {
  expect((await estimate({ model: "vexel-sketch" })).cost).toBe(0);
  await expectError(await send({ model: "text-embedding-3-small" }), "model_not_found", "model");
});

test("the catalog says which models edit, with how many images, and with a mask", async () => {
  const { data } = await gateway.getAdmin<Page<ShownModel>>("/admin/api/models");
  const editsOf = (id: string) => data.find((model) => model.id === id)?.edits;
  expect(editsOf("dall-e-3")).toBeNull();
  expect(editsOf("gpt-image-2")).toMatchObject({ max_images: 16, mask: true });
  expect(editsOf("gpt-image-2")?.options).not.toHaveProperty("style");
});

test("the options of the built-in image model are lists of values, and not free text", async () => {
  const { data } = await gateway.getAdmin<Page<ShownModel>>("/admin/api/models");
  const { options, edits } = data.find(({ id }) => id === "vexel-sketch")!;
  expect(options).toMatchObject({
    quality: expect.arrayContaining(["low", "max"]),
    style: ["vivid", "natural"],
    output_format: ["png", "jpeg", "webp", "gif", "svg"],
  });
  expect(Object.keys(options)).not.toContain("svg");
  expect(edits?.mask).toBe(true);
});
