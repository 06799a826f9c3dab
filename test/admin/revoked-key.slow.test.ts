/** The requests and the usage of a revoked key are found by its name. */
import { expect, test } from "bun:test";
import type { CreatedApiKey, RequestPage, UsagePage } from "../../contract/admin.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startProcess, temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";
import { adminToken } from "./reads-fixture.ts";

const headers = { authorization: `Bearer ${adminToken}` };

test("the filter by the name of a key finds the requests of a revoked key", async () => {
  using folder = temporaryFolder();
  const fake = startFake();
  const gateway = await startProcess({
    folder: folder.path,
    yaml: configFor(fake.url),
    env: { VEXEL_ADMIN_TOKEN: adminToken },
  });
  const admin = async <T>(path: string): Promise<T> =>
    (await (await fetch(`${gateway.url}/admin/api${path}`, { headers })).json()) as T;
  try {
    const created = await gateway.post("/admin/api/keys", { name: "old", models: ["*"] }, headers);
    const { id, key } = (await created.json()) as CreatedApiKey;
    const body = { model: "text-embedding-3-small", input: "a text" };
    const bearer = { authorization: `Bearer ${key}` };
    expect((await gateway.post("/v1/embeddings", body, bearer)).status).toBe(200);
    const revoke = { method: "DELETE", headers };
    await fetch(`${gateway.url}/admin/api/keys/${id}`, revoke);
    expect((await gateway.post("/v1/embeddings", body, bearer)).status).toBe(401);
    const served = (): Promise<RequestPage> => admin("/requests?key=old&status=ok");
    await until(async () => (await served()).data.length === 1);
    expect((await served()).data[0]?.key_id).toBe(id);
    const usage = await admin<UsagePage>("/usage?key=old&interval=total");
    expect(usage.data[0]?.requests).toBeGreaterThanOrEqual(1);
  } finally {
    gateway.kill("SIGTERM");
    await gateway.exited;
    await fake.close();
  }
}, 60_000);
