/** A rotated key and the key that replaced it have one budget and one set of limits. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { startFake } from "../fake-upstream.ts";
import { configFor, type GatewayProcess, startProcess, temporaryFolder } from "../harness.ts";
import { adminToken, budgetFor, create, generate, rotate } from "./rotated-keys-fixture.ts";

const fake = startFake();
const folder = temporaryFolder();
const env = { VEXEL_ADMIN_TOKEN: adminToken };
const start = () => startProcess({ folder: folder.path, yaml: configFor(fake.url), env });
let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await start();
});
afterAll(async () => {
  await gateway.close();
  fake.close();
  folder[Symbol.dispose]();
});

test("the amount spent moves with a rotated key, and both keys of an overlap share one budget, also after a restart", async () => {
  const first = await create(gateway, { budget: budgetFor(1) });
  expect(await generate(gateway, first)).toBe(200);
  const second = await rotate(gateway, first, 0);
  expect(await generate(gateway, second)).toBe(429);
  expect(await generate(gateway, await rotate(gateway, second, 0))).toBe(429);

  const old = await create(gateway, { budget: budgetFor(3) });
  expect(await generate(gateway, old)).toBe(200);
  const replacement = await rotate(gateway, old, 24);
  expect(await generate(gateway, replacement)).toBe(200);
  expect(await generate(gateway, old)).toBe(200);
  expect([await generate(gateway, old), await generate(gateway, replacement)]).toEqual([429, 429]);
  gateway.kill("SIGTERM");
  await gateway.exited;

  gateway = await start();
  for (const key of [old, replacement]) expect(await generate(gateway, key)).toBe(429);
  expect(await generate(gateway, await rotate(gateway, old, 0))).toBe(429);
});

test("both keys of an overlap share one rate limit, which stays when one of them is revoked", async () => {
  const old = await create(gateway, { limits: { requestsPerMinute: 2 } });
  const replacement = await rotate(gateway, old, 24);
  const statuses = [await generate(gateway, old), await generate(gateway, replacement)];
  expect(statuses).toEqual([200, 200]);
  const headers = { authorization: `Bearer ${adminToken}` };
  const url = `${gateway.url}/admin/api/keys/${old.id}`;
  expect((await fetch(url, { method: "DELETE", headers })).status).toBe(204);
  expect(await generate(gateway, replacement)).toBe(429);
});
