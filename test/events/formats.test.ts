/** Events for Slack, Microsoft Teams and e-mail, delivered to receivers that check what the services check. */
import { afterAll, expect, test } from "bun:test";
import type { WebhookTest } from "../../contract/admin.ts";
import { teamsMessage } from "../../server/events/formats/chat-messages.ts";
import { createSendMail } from "../../server/events/formats/send-mail.ts";
import type { StoredEvent } from "../../server/storage/sql/event-store.ts";
import { until } from "../until.ts";
import { startSmtpServer } from "./smtp-server.ts";
import { asOperator, startWithAdmin, type Watched } from "./webhooks-fixture.ts";

const firing: StoredEvent = {
  id: "evt_1",
  type: "alert.firing",
  at: Date.UTC(2026, 0, 1),
  data: {
    name: "Errors <of> search & co",
    metric: "error_rate",
    value: 12.5,
    above: 5,
    minutes: 15,
    model: "search",
    project: null,
    upstream: null,
    since: "2026-01-01T00:00:00.000Z",
  },
};

const received: { path: string; body: Record<string, unknown>; headers: Headers }[] = [];
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    const { pathname: path } = new URL(request.url);
    const body = (await request.json()) as Record<string, unknown>;
    received.push({ path, body, headers: request.headers });
    return path.startsWith("/slack") ? slackResponse(body) : teamsResponse(body);
  },
});
afterAll(() => server.stop(true));

/** Slack responds with `ok`, or with 400 and the reason: docs.slack.dev/messaging/sending-messages-using-incoming-webhooks */
function slackResponse({ text, blocks }: Record<string, unknown>): Response {
  if (typeof text !== "string" || text === "") return new Response("no_text", { status: 400 });
  const [header, section] = blocks as [
    { type: string; text: { type: string; text: string } },
    { type: string; fields: { type: string; text: string }[] },
  ];
  const isValid =
    header.type === "header" &&
    header.text.type === "plain_text" &&
    header.text.text.length <= 150 &&
    section.type === "section" &&
    section.fields.length <= 10 &&
    section.fields.every((field) => field.type === "mrkdwn" && field.text.length <= 2000);
  return isValid ? new Response("ok") : new Response("invalid_blocks", { status: 400 });
}

/** A workflow accepts a message with an Adaptive Card, and responds with 202. */
function teamsResponse({ type, attachments }: Record<string, unknown>): Response {
  const [card] = attachments as [{ contentType: string; content: Record<string, unknown> }];
  const isValid =
    type === "message" &&
    card.contentType === "application/vnd.microsoft.card.adaptive" &&
    card.content.type === "AdaptiveCard" &&
    typeof card.content.version === "string" &&
    Array.isArray(card.content.body);
  return new Response(null, { status: isValid ? 202 : 400 });
}

async function withGateway(
  yaml: string,
  settings: Record<string, string>,
  check: (gateway: Watched) => Promise<void>,
): Promise<void> {
  const gateway = startWithAdmin({ yaml, settings });
  try {
    await check(gateway);
  } finally {
    await gateway.close();
  }
}

const testOf = async (gateway: Watched, id: string): Promise<WebhookTest> =>
  (await (
    await asOperator(gateway.url, `/admin/api/webhooks/${id}/test`, "POST")
  ).json()) as WebhookTest;

const webhooksOf = (gateway: Watched) =>
  gateway.getAdmin<{ data: { id: string; format: string; url: string }[] }>("/admin/api/webhooks");

test("a webhook of the format slack or teams is accepted by the service, without a signature", async () => {
  const base = `http://127.0.0.1:${server.port}`;
  const yaml = `webhooks:
  - { url: "${base}/slack/T0/B0/token", format: slack }
  - { url: "${base}/teams/workflows/1", format: teams, events: ["alert.*"] }
`;
  await withGateway(yaml, {}, async (gateway) => {
    const { data } = await webhooksOf(gateway);
    expect(data.map(({ format }) => format).sort()).toEqual(["slack", "teams"]);
    for (const { id } of data) {
      expect(await testOf(gateway, id)).toMatchObject({ delivered: true, problem: null });
    }
  });
  expect(received).toHaveLength(2);
  for (const { headers } of received) expect(headers.has("webhook-signature")).toBe(false);
  expect(received.find(({ path }) => path.startsWith("/slack"))?.body.text).toContain(
    "Webhook test",
  );
});

test("an alert names the value and the bound, and markup in names is not markup", () => {
  const card = JSON.stringify(teamsMessage(firing));
  expect(card).toContain("Alert: Errors <of> search & co");
  expect(card).toContain('{"title":"Error rate","value":"12.5 %"}');
  expect(card).toContain('{"title":"Bound","value":"5 %"}');
  expect(card).not.toContain("Project");
});

test("an alert arrives as an e-mail at each address, over SMTP", async () => {
  const smtp = await startSmtpServer();
  const sendMail = createSendMail({ smtpUrl: smtp.url, from: "vexel@example.com" });
  await sendMail("mailto:ops@example.com,on-call@example.com", firing, AbortSignal.timeout(60_000));
  expect(smtp.mails).toHaveLength(1);
  expect(smtp.mails[0]).toMatchObject({
    from: "vexel@example.com",
    to: ["ops@example.com", "on-call@example.com"],
  });
  const text = smtp.mails[0]?.text ?? "";
  expect(text).toContain("Subject: [Vexel] Alert: Errors <of> search & co");
  expect(text).toContain("Error rate: 12.5 %");
  await smtp.close();
});

test("a mail that is given up leaves no connection to the server behind", async () => {
  const smtp = await startSmtpServer({ isSilent: true });
  const sendMail = createSendMail({ smtpUrl: smtp.url, from: "vexel@example.com" });
  const abort = new AbortController();
  const sent = sendMail("mailto:ops@example.com", firing, abort.signal);
  await until(() => smtp.mails.length === 1);
  expect(smtp.connections()).toBe(1);
  abort.abort(new Error("no response within 60 seconds"));
  await expect(sent).rejects.toThrow("no response within 60 seconds");
  await until(() => smtp.connections() === 0);
  await smtp.close();
});

test("a webhook with a mailto: URL sends e-mail, and a refused one says why", async () => {
  const [smtp, refusing] = [
    await startSmtpServer(),
    await startSmtpServer({ refusal: "550 No such user" }),
  ];
  const yaml = 'webhooks: [{ url: "mailto:ops@example.com", events: ["alert.*"] }]\n';
  const results: WebhookTest[] = [];
  for (const VEXEL_SMTP_URL of [smtp.url, refusing.url, ""]) {
    await withGateway(yaml, { VEXEL_SMTP_URL }, async (gateway) => {
      const [webhook] = (await webhooksOf(gateway)).data;
      expect(webhook).toMatchObject({ format: "email", url: "mailto:ops@example.com" });
      results.push(await testOf(gateway, webhook?.id ?? ""));
    });
  }
  const [sent, refused, missing] = results;
  expect(sent).toMatchObject({ delivered: true });
  expect(smtp.mails).toHaveLength(1);
  expect(refused).toMatchObject({ delivered: false, problem: expect.stringContaining("550") });
  expect(missing?.problem).toBe("e-mail needs the setting VEXEL_SMTP_URL");
  await smtp.close();
  await refusing.close();
});

test("a standard webhook without a secret, and e-mail with a format, are refused", async () => {
  await withGateway("", {}, async (gateway) => {
    const create = async (body: object) =>
      (await (await asOperator(gateway.url, "/admin/api/webhooks", "POST", body)).json()) as {
        error?: { param: string };
      };
    const url = "https://hooks.example/1";
    expect((await create({ name: "a", url })).error?.param).toBe("secret");
    const mail = { name: "b", url: "mailto:ops@example.com", format: "slack" };
    expect((await create(mail)).error?.param).toBe("format");
    expect((await create({ name: "c", url: "mailto:nobody" })).error?.param).toBe("url");
    expect((await create({ name: "d", url, format: "slack" })).error).toBeUndefined();
  });
});

test("an alert rule is created, shown with its state and deleted through the admin API", async () => {
  await withGateway("", {}, async (gateway) => {
    const send = (path: string, method: string, body?: object) =>
      asOperator(gateway.url, `/admin/api/alerts${path}`, method, body);
    const body = { name: "errors", metric: "error_rate", above: 5 };
    expect((await send("", "POST", body)).status).toBe(201);
    const wrong = await send("", "POST", { ...body, name: "wrong", metric: "weather" });
    expect(((await wrong.json()) as { error: { param: string } }).error.param).toBe("metric");
    const shown = await (await send("/errors", "GET")).json();
    expect(shown).toMatchObject({
      id: "errors",
      state: "ok",
      changed_at: null,
      value: { above: 5 },
    });
    expect((await send("/errors", "DELETE")).status).toBe(204);
  });
});
