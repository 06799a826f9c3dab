/** Silences of alert rules: who sets them, until when, and that no webhook gets an event meanwhile. */
import { afterAll, expect, test } from "bun:test";
import type { AlertEntity, AuditEntry } from "../../contract/admin.ts";
import type { EventData } from "../../contract/events.ts";
import { until } from "../until.ts";
import { startEntityGateway } from "./entities-fixture.ts";

const received: string[] = [];
const receiver = Bun.serve({
  port: 0,
  fetch: async (request) => {
    received.push(((await request.json()) as { type: string }).type);
    return new Response();
  },
});
const gateway = await startEntityGateway({
  yaml: `alerts:
  - { name: errors, metric: error_rate, above: 5 }
webhooks:
  - { url: "http://127.0.0.1:${receiver.port}/", format: slack, events: ["alert.*"] }
`,
});
afterAll(async () => {
  await gateway.close();
  await receiver.stop(true);
});

const rule = async () => (await gateway.call("GET /alerts/errors")).json as unknown as AlertEntity;
const entries = async () =>
  (await gateway.call("GET /audit?action=alert.*")).json.data as unknown as AuditEntry[];

test("a silence of a rule of the file is shown with its end, reason and user, and ends", async () => {
  expect((await rule()).silence).toBeNull();
  const before = Date.now();
  const body = { minutes: 60, reason: "  a planned migration " };
  const { status, json } = await gateway.call("PUT /alerts/errors/silence", body);
  expect(status).toBe(200);
  const { silence } = json as unknown as AlertEntity;
  expect(silence).toMatchObject({ reason: "a planned migration", by: "admin token" });
  const ends = Date.parse(silence?.until ?? "") - before;
  expect(ends).toBeGreaterThanOrEqual(3_600_000);
  expect(ends).toBeLessThan(3_660_000);
  expect((await rule()).silence).toEqual(silence);
  const [listed] = (await gateway.call("GET /alerts")).json.data as unknown as AlertEntity[];
  expect(listed?.silence).toEqual(silence);

  expect((await gateway.call("DELETE /alerts/errors/silence")).status).toBe(204);
  expect((await rule()).silence).toBeNull();
  // Ending it again changes nothing.
  expect((await gateway.call("DELETE /alerts/errors/silence")).status).toBe(204);
  const [ended, began, ...others] = await entries();
  expect(others).toEqual([]);
  expect([began?.action, began?.subject]).toEqual(["alert.silenced", "errors"]);
  expect(began?.after).toEqual(silence);
  expect([ended?.action, ended?.before]).toEqual(["alert.unsilenced", silence]);
});

test("a silence has a reason and ends within 30 days", async () => {
  for (const [body, param] of [
    [{ minutes: 60 }, "reason"],
    [{ minutes: 60, reason: " " }, "reason"],
    [{ minutes: 0, reason: "x" }, "minutes"],
    [{ minutes: 43_201, reason: "x" }, "minutes"],
    [{ reason: "x" }, "minutes"],
  ] as const) {
    const { status, json } = await gateway.call("PUT /alerts/errors/silence", body);
    expect([status, json.error.param]).toEqual([400, param]);
  }
  const body = { minutes: 43_200, reason: "x" };
  expect((await gateway.call("PUT /alerts/no-such-rule/silence", body)).status).toBe(404);
  expect((await gateway.call("DELETE /alerts/no-such-rule/silence")).status).toBe(404);
});

test("no webhook gets the events of a silenced rule, and the list has them", async () => {
  const emit = (more: Partial<EventData["alert.firing"]> = {}) =>
    gateway.events.emit({
      type: "alert.firing",
      data: {
        ...{ name: "errors", metric: "error_rate", value: 50, above: 5, minutes: 15 },
        ...{ model: null, project: null, upstream: null, since: new Date().toISOString() },
        ...more,
      },
    });
  emit({ silenced_until: new Date(Date.now() + 60_000).toISOString() });
  emit();
  await until(() => received.length > 0);
  const listed = (await gateway.call("GET /events?type=alert.*")).json.data as unknown as {
    deliveries: unknown[];
  }[];
  expect(listed.map(({ deliveries }) => deliveries.length)).toEqual([1, 0]);
  expect(received).toHaveLength(1);
});
