/** The requests and the usage of a revoked key are found by its name. */
import { expect, test } from "bun:test";
import { startFake } from "../fake-upstream.ts";
import { configFor, post } from "../harness.ts";
import { until } from "../until.ts";
import { startEntityGateway } from "./entities-fixture.ts";

test("the filter by the name of a key finds the requests of a revoked key", async () => {
  const fake = startFake();
  const gateway = await startEntityGateway({ yaml: configFor(fake.url) });
  try {
    const { json: created } = await gateway.call("POST /keys", { name: "old", models: ["*"] });
    const body = { model: "text-embedding-3-small", input: "a text" };
    const bearer = { authorization: `Bearer ${created.key}` };
    const embed = () => post(`${gateway.baseURL}/embeddings`, body, bearer);
    expect((await embed()).status).toBe(200);
    await gateway.call(`DELETE /keys/${created.id}`);
    expect((await embed()).status).toBe(401);
    const served = async () => (await gateway.call("GET /requests?key=old&status=ok")).json.data;
    await until(async () => (await served()).length === 1);
    expect((await served())[0]?.key_id).toBe(created.id);
    const { json: usage } = await gateway.call("GET /usage?key=old&interval=total");
    expect(usage.data[0]?.requests).toBeGreaterThanOrEqual(1);
  } finally {
    await gateway.close();
    fake.close();
  }
});
