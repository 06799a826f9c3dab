/** The receivers of an alert rule: the webhooks that it names get its events, and no others. */
import { afterAll, expect, test } from "bun:test";
import type { AlertEntity, ShownEvent, WebhookEntity } from "../../contract/admin.ts";
import type { EventData } from "../../contract/events.ts";
import { startEntityGateway } from "./entities-fixture.ts";

const receiver = Bun.serve({ port: 0, fetch: () => new Response() });
const url = (path: string) => `http://127.0.0.1:${receiver.port}/${path}`;
const gateway = await startEntityGateway({
  yaml: `alerts:
  - { name: spend of the day, metric: spend, above: 5, receivers: [finance] }
webhooks:
  - { url: "${url("all")}", format: slack, events: ["alert.*"] }
  - { name: finance, url: "${url("finance")}", format: slack, events: ["budget.*"] }
`,
});
afterAll(async () => {
  await gateway.close();
  await receiver.stop(true);
});

const webhooks = async () =>
  (await gateway.call("GET /webhooks")).json.data as unknown as WebhookEntity[];

/** The last part of the URL of each webhook that gets the event of an alert. */
async function receiversOf(receivers?: readonly string[]): Promise<(string | undefined)[]> {
  gateway.events.emit({
    type: "alert.firing",
    data: {
      ...{ name: "spend of the day", metric: "spend", value: 50, above: 5, minutes: 15 },
      ...{ model: null, project: null, upstream: null, since: new Date().toISOString() },
      ...(receivers && { receivers }),
    } as EventData["alert.firing"],
  });
  const { json } = await gateway.call("GET /events?type=alert.*&limit=1");
  const [event] = json.data as unknown as ShownEvent[];
  const known = await webhooks();
  return (event?.deliveries ?? [])
    .map(({ webhook }) =>
      known
        .find(({ id }) => id === webhook)
        ?.url.split("/")
        .at(-1),
    )
    .toSorted();
}

test("a rule without receivers has the webhooks that subscribe to alerts", async () => {
  expect(await receiversOf()).toEqual(["all"]);
});

test("the receivers of a rule get its events, whatever they subscribe to, and no others do", async () => {
  expect(await receiversOf(["finance"])).toEqual(["finance"]);
  const stored = { name: "on call", url: url("on-call"), format: "slack", events: ["key.*"] };
  expect((await gateway.call("POST /webhooks", stored)).status).toBe(201);
  expect(await receiversOf(["finance", "on call"])).toEqual(["finance", "on-call"]);
});

test("an alert whose receivers are gone is heard by the webhooks that subscribe to alerts", async () => {
  expect(await receiversOf(["nobody"])).toEqual(["all"]);
  expect(await receiversOf(["nobody", "finance"])).toEqual(["finance"]);
});

test("a webhook of the file has its name, and a rule its receivers", async () => {
  expect((await webhooks()).map(({ name }) => name)).toContain("finance");
  const { json } = await gateway.call("GET /alerts/spend%20of%20the%20day");
  expect((json as unknown as AlertEntity).value.receivers).toEqual(["finance"]);
});

test("a delete of a webhook that a rule names lists the rule, and force deletes it", async () => {
  const stored = { name: "named", url: url("named"), format: "slack" };
  await gateway.call("POST /webhooks", stored);
  const rule = { name: "names it", metric: "spend", above: 5, receivers: ["named"] };
  expect((await gateway.call("POST /alerts", rule)).status).toBe(201);
  const { status, json } = await gateway.call("DELETE /webhooks/named");
  expect([status, json.error.code]).toEqual([409, "in_use"]);
  expect(json.error).toMatchObject({ used_by: [{ kind: "alert", name: "names it" }] });
  expect((await gateway.call("DELETE /webhooks/named?force=true")).status).toBe(204);
});
