/** Which API keys may use a model. */
import { afterAll, expect, test } from "bun:test";
import type { ModelAccess } from "../../contract/admin.ts";
import { adminToken, asOperator, getAdmin } from "../events/webhooks-fixture.ts";
import { startGateway, testKey } from "../harness.ts";
import { expectError } from "../http/gateway-fixture.ts";

const gateway = startGateway({
  yaml: `keys:
  - { name: test, key: ${testKey} }
  - { name: expired, key: sk-expired-0123456789abcdef, expires: 2020-01-01 }`,
  settings: { VEXEL_ADMIN_TOKEN: adminToken },
});
afterAll(() => gateway.close());

test("the keys whose models match the id may use the model, unless they have expired", async () => {
  const access = await getAdmin<ModelAccess>(
    gateway.url,
    "/admin/api/model-access?model=all-minilm-l6-v2",
  );
  expect(access.key_count).toBe(1);
  expect(access.keys.map(({ name }) => name)).toEqual(["test"]);
});

test("an unknown model is an error that names the parameter", async () => {
  const response = await asOperator(gateway.url, "/admin/api/model-access?model=none");
  await expectError(response, "model_not_found", "model");
});
