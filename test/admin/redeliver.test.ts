/** Delivering an event to a webhook again. */
import { afterAll, expect, test } from "bun:test";
import type { AuditEntry, Page, ShownEvent } from "../../contract/admin.ts";
import { asOperator } from "../events/webhooks-fixture.ts";
import { until } from "../until.ts";
import { startReads } from "./reads-fixture.ts";

const received: string[] = [];
const receiver = Bun.serve({
  port: 0,
  fetch: (request) => {
    received.push(request.headers.get("webhook-id") ?? "");
    return new Response(null, { status: 204 });
  },
});
const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
const setup = startReads({
  more: `webhooks:\n  - { url: "${receiver.url}", secret: "${secret}", events: ["config.*"] }`,
});
afterAll(async () => {
  await setup.close();
  await receiver.stop(true);
});

const post = (path: string): Promise<Response> =>
  asOperator(setup.gateway.url, `/admin/api${path}`, "POST");

test("a delivered event is redelivered to the webhook, and the audit log names the user", async () => {
  setup.gateway.events.emit({ type: "config.reloaded", data: { changes: "the file" } });
  await until(() => received.length === 1);
  const isDelivered = async () => {
    const { data } = await setup.admin<Page<ShownEvent>>("/events");
    return data[0]?.deliveries[0]?.state === "delivered";
  };
  await until(isDelivered);
  const { data } = await setup.admin<Page<ShownEvent>>("/events");
  const [event] = data;
  const webhook = event!.deliveries[0]!.webhook;
  expect((await post(`/events/${event!.id}/deliveries/${webhook}`)).status).toBe(204);
  await until(() => received.length === 2);
  expect(received[1]).toBe(received[0]!);
  await until(isDelivered);
  const audit = await setup.admin<Page<AuditEntry>>("/audit");
  expect(audit.data[0]).toMatchObject({ action: "event.redelivered", actor: "admin token" });
});

test("an event that the webhook did not get is reported as not found", async () => {
  expect((await post("/events/evt_nothing/deliveries/wh_nothing")).status).toBe(404);
});
