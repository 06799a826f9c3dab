/** The list price that the form of a model shows beside its own price. */
import { afterAll, expect, test } from "bun:test";
import type { ListedPrice } from "../../contract/admin.ts";
import { adminToken, getAdmin } from "../events/webhooks-fixture.ts";
import { startGateway } from "../harness.ts";

const gateway = startGateway({
  yaml: `upstreams:
  - { id: cloud, kind: openai, apiKey: sk-fake }`,
  settings: { VEXEL_ADMIN_TOKEN: adminToken },
});
afterAll(() => gateway.close());

const listed = (kind: string, model: string, upstream = "cloud") =>
  getAdmin<ListedPrice>(
    gateway.url,
    `/admin/api/listed-price?kind=${kind}&upstream=${upstream}&model=${model}`,
  );

test("the list price of an embedding model has its source and date", async () => {
  const { price, source } = await listed("embedding", "text-embedding-3-small");
  expect(price).toEqual({ input: 0.02 });
  expect(source).toMatch(/2026-\d\d-\d\d/);
});

test("the list price of an image model has the members of vexel.yaml", async () => {
  const { price, source } = await listed("image", "gpt-image-1");
  expect(price).toMatchObject({ input: 5, imageInput: 10, output: 40 });
  expect(source).not.toBeNull();
});

test("a model without a list price, and an unknown upstream, have none", async () => {
  const none = { object: "listed_price", price: null, source: null };
  expect(await listed("embedding", "my-own-model")).toEqual(none as ListedPrice);
  expect(await listed("image", "gpt-image-1", "nowhere")).toEqual(none as ListedPrice);
});
