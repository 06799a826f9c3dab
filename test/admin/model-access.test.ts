/** Which API keys may use a model. */
import { afterAll, expect, test } from "bun:test";
import type { ModelAccess } from "../../contract/admin.ts";
import { asOperator, startWithAdmin } from "../events/webhooks-fixture.ts";
import { expectError } from "../http/gateway-fixture.ts";

const gateway = startWithAdmin({ yaml: "" });
afterAll(() => gateway.close());

test("the keys whose models match the id may use the model", async () => {
  const access = await gateway.getAdmin<ModelAccess>(
    "/admin/api/model-access?model=all-minilm-l6-v2",
  );
  expect(access.key_count).toBe(1);
  expect(access.keys.map(({ name }) => name)).toEqual(["test"]);
});

test("an unknown model is an error that names the parameter", async () => {
  const response = await asOperator(gateway.url, "/admin/api/model-access?model=none");
  await expectError(response, "model_not_found", "model");
});
