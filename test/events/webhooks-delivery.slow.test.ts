/** Webhook deliveries: signed as in Standard Webhooks, in order, retried, and reported correctly. */

import { describe, expect, test } from "bun:test";
import OpenAI from "openai";
import type { Overview, Page, ShownEvent, ShownWebhook } from "../../contract/admin.ts";
import { signWebhook } from "../../server/events/attempt-delivery.ts";
import { closeAfterEach } from "../clean-up.ts";
import { until } from "../until.ts";
import {
  asOperator,
  emitEvent,
  isGenuine,
  type Received,
  type Respond,
  secret,
  startReceiver,
  startWithAdmin,
  webhookYaml,
} from "./webhooks-fixture.ts";

const open = closeAfterEach();

interface SetupOptions {
  readonly respond?: Respond;
  readonly events?: string;
  readonly delays?: readonly number[];
}

function setUp({ respond, events, delays = [30, 30, 30] }: SetupOptions = {}) {
  const receiver = startReceiver(respond);
  const yaml = webhookYaml({ url: receiver.url, ...(events && { events }) });
  const gateway = startWithAdmin({ yaml, webhookDelaysMs: delays });
  open(receiver, gateway);
  const webhookStatus = async (): Promise<ShownWebhook> =>
    (await gateway.getAdmin<{ data: [ShownWebhook] }>("/admin/api/webhooks")).data[0];
  const newest = async () =>
    (await gateway.getAdmin<Page<ShownEvent>>("/admin/api/events")).data[0]!;
  return { receiver, gateway, webhookStatus, newest };
}

const failing =
  (status: number, times: number, headers: Record<string, string> = {}): Respond =>
  (_, count) =>
    count <= times ? new Response("no", { status, headers }) : new Response("thanks");

const payloadNames = (received: readonly Received[]) => received.map(({ data }) => data.changes);

describe("a webhook", () => {
  test("has a signature that standard libraries verify, and that no other message or secret matches", async () => {
    const { receiver, gateway } = setUp();
    emitEvent(gateway, "an umlaut: ü");
    await until(() => receiver.received.length === 1);
    const delivery = receiver.received[0]!;
    expect(isGenuine(delivery, secret)).toBeTrue();
    expect(isGenuine({ ...delivery, body: delivery.body.replace("ü", "u") }, secret)).toBeFalse();
    expect(isGenuine(delivery, `whsec_${Buffer.alloc(32, 1).toString("base64")}`)).toBeFalse();
    // OpenAI's SDK verifies OpenAI's webhooks, which follow the same standard.
    const { webhooks } = new OpenAI({ apiKey: "none", webhookSecret: secret });
    await webhooks.verifySignature(delivery.body, delivery.headers);
    expect(webhooks.verifySignature(`${delivery.body} `, delivery.headers)).rejects.toThrow();
  });

  test("has the signature of the standard's example", () => {
    // libraries/javascript/src/webhook.test.ts of github.com/standard-webhooks/standard-webhooks, "sign function
    // works".
    const signed = {
      id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
      timestamp: 1614265330,
      body: '{"test": 2432232314}',
    };
    expect(signWebhook(signed, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).toBe(
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    );
  });

  test("has the type, time and ID of the event in the list of events", async () => {
    const { receiver, gateway, newest } = setUp();
    emitEvent(gateway, "2 models added");
    await until(() => receiver.received.length === 1);
    const { id, headers, body, timestamp } = receiver.received[0]!;
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("user-agent")).toMatch(/^vexel\/\d/);
    expect(id).toMatch(/^evt_[0-9a-f]{32}$/);
    expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(60);
    const event = JSON.parse(body) as Record<string, unknown>;
    expect(event).toEqual({
      id,
      type: "config.reloaded",
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      data: { changes: "2 models added" },
    });
    await until(async () => (await newest()).deliveries[0]?.state === "delivered");
    expect(await newest()).toMatchObject({ ...event, deliveries: [{ attempts: 1, status: 200 }] });
  });

  test("gets the events it subscribes to, and no others", async () => {
    const { receiver, gateway } = setUp({ events: '["ledger.*", "config.rejected"]' });
    emitEvent(gateway, 1);
    gateway.events.emit({ type: "ledger.recovered", data: { reason: "" } });
    gateway.events.emit({ type: "key.revoked", data: { id: "k", name: "k" } });
    gateway.events.emit({ type: "config.rejected", data: { problems: [] } });
    await until(() => receiver.of("config.rejected").length === 1);
    expect(receiver.received.map(({ type }) => type)).toEqual([
      "ledger.recovered",
      "config.rejected",
    ]);
  });

  test("gets events in the order in which they occurred", async () => {
    const { receiver, gateway } = setUp({
      respond: async () => {
        await Bun.sleep(Math.random() * 5);
        return new Response(null, { status: 204 });
      },
    });
    for (let i = 0; i < 50; i++) emitEvent(gateway, i);
    await until(() => receiver.received.length === 50);
    expect(payloadNames(receiver.received)).toEqual(
      Array.from({ length: 50 }, (_, i) => String(i)),
    );
  });
});

describe("an event that a webhook does not accept", () => {
  test("is retried with the same ID and body and a new signature", async () => {
    const { receiver, gateway, webhookStatus, newest } = setUp({ respond: failing(500, 2) });
    emitEvent(gateway, 1);
    await until(() => receiver.received.length === 3);
    const [first, , third] = receiver.received as [Received, Received, Received];
    expect(third.id).toBe(first.id);
    expect(third.body).toBe(first.body);
    expect(receiver.received.every((delivery) => isGenuine(delivery, secret))).toBeTrue();
    await until(async () => (await webhookStatus()).delivered === 1);
    expect(await webhookStatus()).toMatchObject({ waiting: 0, consecutive_failures: 0 });
    expect((await newest()).deliveries).toMatchObject([{ state: "delivered", attempts: 3 }]);
    expect(gateway.log().match(/"webhook-failing"/g)).toHaveLength(1);
  });

  test("does not block later events", async () => {
    const { receiver, gateway } = setUp({
      delays: [300],
      respond: ({ data }, count) =>
        new Response(null, { status: data.changes === "0" && count === 1 ? 500 : 200 }),
    });
    for (const what of [0, 1, 2]) emitEvent(gateway, what);
    await until(() => receiver.received.length === 4);
    expect(payloadNames(receiver.received)).toEqual(["0", "1", "2", "0"]);
  });

  test("is abandoned after the last attempt, with a log line", async () => {
    const { receiver, gateway, webhookStatus, newest } = setUp({
      respond: () => new Response("no", { status: 404 }),
      delays: [10, 10],
    });
    emitEvent(gateway, 1);
    await until(async () => (await webhookStatus()).abandoned === 1);
    expect(receiver.received).toHaveLength(3);
    expect(await webhookStatus()).toMatchObject({
      waiting: 0,
      consecutive_failures: 3,
      state: "active",
    });
    expect((await newest()).deliveries).toMatchObject([
      {
        state: "abandoned",
        attempts: 3,
        status: 404,
        problem: "response status 404",
        next_attempt_at: null,
      },
    ]);
    expect(gateway.log()).toContain('"event":"webhook-abandoned"');
    // An operator who looks at the console sees that nothing arrives.
    const { attention } = await gateway.getAdmin<Overview>("/admin/api/overview");
    expect(attention.find(({ type }) => type === "webhook_failing")?.items).toMatchObject([
      {
        severity: "error",
        subject: new URL(receiver.url).origin,
        detail: "3 failures in a row, the last: response status 404",
        link: "/webhooks",
      },
    ]);
  });

  test("is not sent on to a redirect", async () => {
    const elsewhere = startReceiver();
    open(elsewhere);
    const { gateway, webhookStatus } = setUp({
      respond: () => Response.redirect(elsewhere.url, 307),
      delays: [],
    });
    emitEvent(gateway, 1);
    await until(async () => (await webhookStatus()).abandoned === 1);
    expect((await webhookStatus()).last_attempt).toMatchObject({ status: 307, delivered: false });
    expect(elsewhere.received).toEqual([]);
  });

  test("waits for an unreachable receiver, with a log line", async () => {
    const { receiver, gateway, webhookStatus } = setUp({ delays: [60_000] });
    receiver.close();
    emitEvent(gateway, 1);
    await until(async () => (await webhookStatus()).consecutive_failures === 1);
    const { last_attempt, waiting } = await webhookStatus();
    expect(waiting).toBe(1);
    expect(last_attempt).toMatchObject({ delivered: false, status: null });
    expect(last_attempt?.problem).toContain("cannot be reached");
  });
});

describe("a receiver that", () => {
  test("responds with 410 gets no more events until a test of it succeeds", async () => {
    let gone = true;
    const { receiver, gateway, webhookStatus } = setUp({
      respond: () => new Response(null, { status: gone ? 410 : 200 }),
    });
    for (const what of [0, 1, 2]) emitEvent(gateway, what);
    await until(async () => (await webhookStatus()).state === "gone");
    expect(await webhookStatus()).toMatchObject({ abandoned: 3, waiting: 0 });
    emitEvent(gateway, 3);
    await Bun.sleep(100);
    expect(receiver.received).toHaveLength(1);
    expect(gateway.log()).toContain('"event":"webhook-endpoint-gone"');
    gone = false;
    const { id } = await webhookStatus();
    const tested = await gateway.getAdmin(`/admin/api/webhooks/${id}/test`, "POST");
    expect(tested).toMatchObject({ delivered: true, status: 200, problem: null, webhook: id });
    emitEvent(gateway, 4);
    await until(() => payloadNames(receiver.received).includes("4"));
    expect(payloadNames(receiver.received)).not.toContain("3");
  });

  test("sends retry-after gets no events for that time", async () => {
    const { receiver, gateway } = setUp({
      respond: failing(429, 1, { "retry-after": "1" }),
      delays: [10],
    });
    emitEvent(gateway, 0);
    await until(() => receiver.received.length === 1);
    emitEvent(gateway, 1);
    await until(() => receiver.received.length === 3);
    const [first, second] = receiver.received as [Received, Received];
    expect(second.at - first.at).toBeGreaterThan(950);
    expect(payloadNames(receiver.received)).toEqual(["0", "0", "1"]);
  });

  test("is tested gets a result, and an unknown webhook gets 404", async () => {
    const { receiver, gateway, webhookStatus } = setUp({ respond: failing(500, 1) });
    const { id } = await webhookStatus();
    const failed = await gateway.getAdmin(`/admin/api/webhooks/${id}/test`, "POST");
    expect(failed).toMatchObject({ delivered: false, status: 500, problem: "response status 500" });
    expect(receiver.of("webhook.test")).toHaveLength(1);
    expect(isGenuine(receiver.received[0]!, secret)).toBeTrue();
    // A test event is not recorded.
    expect((await gateway.getAdmin<Page<ShownEvent>>("/admin/api/events")).data).toEqual([]);
    const none = await asOperator(gateway.url, "/admin/api/webhooks/wh_nothing/test", "POST");
    expect(none.status).toBe(404);
  });
});

test("neither the secret nor the token in the URL appears in a log line or a response", async () => {
  const { receiver, gateway, webhookStatus } = setUp({ respond: failing(500, 9), delays: [10] });
  emitEvent(gateway, 1);
  await until(async () => (await webhookStatus()).abandoned === 1);
  const responses = await Promise.all(
    ["/admin/api/events", "/admin/api/webhooks"].map(async (path) =>
      (await asOperator(gateway.url, path)).text(),
    ),
  );
  const output = [gateway.log(), ...responses, ...receiver.received.map(({ body }) => body)].join(
    "\n",
  );
  expect(output).toContain("127.0.0.1");
  expect(output).not.toContain("do-not-emitEvent");
  expect(output).not.toContain(secret.slice("whsec_".length));
});
