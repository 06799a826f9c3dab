/** The contact of a project gets the budget alerts of the project, its keys and its tags by e-mail. */
import { afterAll, expect, test } from "bun:test";
import type { ShownEvent } from "../../contract/admin.ts";
import type { EventData } from "../../contract/events.ts";
import { startEntityGateway } from "../admin/entities-fixture.ts";
import { until } from "../until.ts";
import { startSmtpServer } from "./smtp-server.ts";

const smtp = await startSmtpServer();
const gateway = await startEntityGateway({
  yaml: `projects:
  - { name: studio, contact: sam@example.com }
  - { name: search }
`,
  settings: { VEXEL_SMTP_URL: smtp.url },
});
afterAll(async () => {
  await gateway.close();
  await smtp.close();
});

const emit = (data: Partial<EventData["budget.threshold"]>): void =>
  gateway.events.emit({
    type: "budget.threshold",
    data: {
      scope: "project",
      id: "studio",
      name: "studio",
      period: "month",
      percent: 80,
      spent: 40,
      budget: 50,
      ...data,
    },
  });

/** A long header is folded. */
const subjects = () =>
  smtp.mails.map(({ to, text }) => [
    to[0],
    /Subject: (.*)/.exec(text.replaceAll(/\r\n(?= )/g, ""))?.[1],
  ]);
const events = async () =>
  (await gateway.call("GET /events?type=budget.threshold")).json.data as unknown as ShownEvent[];

test("a contact gets the budget alerts of its project, its tags and its keys, and no others", async () => {
  const { id } = (await gateway.call("POST /keys", { name: "canvas", project: "studio" })).json;
  emit({});
  emit({ scope: "tag", id: "team:a", name: "team:a", project: "studio" });
  emit({ scope: "key", id, name: "canvas" });
  emit({ id: "search", name: "search" });
  emit({ scope: "tag", id: "team:a", name: "team:a", project: "search" });
  await until(() => smtp.mails.length === 3);
  expect(subjects()).toEqual(
    ["studio", "team:a", "canvas"].map((name) => [
      "sam@example.com",
      `[Vexel] Budget threshold: ${name} has reached 80 % of $50.00 (month)`,
    ]),
  );
  await until(async () => (await events()).every(({ deliveries: [one] }) => !one?.next_attempt_at));
  const delivered = (await events()).map(({ deliveries }) => deliveries.map(({ state }) => state));
  expect(delivered).toEqual([[], [], ["delivered"], ["delivered"], ["delivered"]]);
  expect(smtp.mails).toHaveLength(3);
});

test("a change of the contact is in force for the next alert", async () => {
  const created = await gateway.call("POST /projects", {
    name: "later",
    contact: "one@example.com",
  });
  expect(created.status).toBe(201);
  await gateway.call("PUT /projects/later", { contact: "two@example.com" });
  const before = smtp.mails.length;
  emit({ id: "later", name: "later" });
  await until(() => smtp.mails.length > before);
  expect(smtp.mails.at(-1)?.to).toEqual(["two@example.com"]);
});

test("a contact that is not one address is refused", async () => {
  for (const contact of ["Sam", "a@example.com,b@example.com", "Sam <a@example.com>"]) {
    const { status, json } = await gateway.call("POST /projects", { name: "other", contact });
    expect([status, json.error.param]).toEqual([400, "contact"]);
  }
});
