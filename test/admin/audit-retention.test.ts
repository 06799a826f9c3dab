/** How long entries of the audit log are kept. */
import { expect, test } from "bun:test";
import { createAudit } from "../../server/admin/audit.ts";
import { startAuditRetention } from "../../server/admin/audit-retention.ts";
import { until } from "../until.ts";
import { createAdminFixture } from "./admin-fixture.ts";

test("entries of the audit log are deleted after the days that the operator set", async () => {
  const { auditLog, clock } = createAdminFixture();
  const audit = createAudit(auditLog, () => clock.now);
  await audit.record({ actor: "Ada", action: "old" });
  clock.now += 31 * 86_400_000;
  await audit.record({ actor: "Ada", action: "recent" });
  const onError = (error: unknown): never => {
    throw error;
  };
  const actions = async (): Promise<string[]> => {
    const { entries } = await auditLog.list({}, { limit: 10 });
    return entries.map(({ action }) => action);
  };
  const start = (days: number) =>
    startAuditRetention({ auditLog, days, now: () => clock.now, onError });
  const stopKeeping = start(0);
  const stop = start(30);
  await until(async () => (await actions()).length < 2);
  stop();
  stopKeeping();
  expect(await actions()).toEqual(["recent"]);
});
