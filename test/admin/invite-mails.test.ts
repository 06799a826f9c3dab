/** Invitations by e-mail: with the role and the projects, if there is a mail server. */
import { afterAll, expect, test } from "bun:test";
import type { Invite } from "../../contract/admin.ts";
import { startSmtpServer } from "../events/smtp-server.ts";
import { startEntityGateway } from "./entities-fixture.ts";

const smtp = await startSmtpServer();
const refusing = await startSmtpServer({ refusal: "550 No such user" });
const start = (url: string) =>
  startEntityGateway({ yaml: "projects: [{ name: studio }]", settings: { VEXEL_SMTP_URL: url } });
const gateways = await Promise.all([smtp.url, refusing.url, ""].map(start));
afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.close()));
  await Promise.all([smtp.close(), refusing.close()]);
});

const invite = async (at: number): Promise<Invite> => {
  const gateway = gateways[at]!;
  const user = { name: "ines@example.com", role: "lead", projects: ["studio"] };
  const { id } = (await gateway.call("POST /users", user)).json;
  const body = { email: user.name };
  const { status, json } = await gateway.call(`POST /users/${id}/invite`, body);
  expect(status).toBe(201);
  return json as unknown as Invite;
};

test("an invitation is sent by e-mail, with the role and the projects", async () => {
  const { url, sent_to: sentTo, mail_problem: problem } = await invite(0);
  expect([sentTo, problem]).toEqual(["ines@example.com", null]);
  expect(smtp.mails.map(({ to }) => to)).toEqual([["ines@example.com"]]);
  const text = smtp.mails[0]?.text.replaceAll("=\r\n", "").replaceAll("=3D", "=") ?? "";
  expect(text).toContain("Subject: [Vexel] Your invitation");
  expect(text).toContain("as ines@example.com, with the role lead (studio)");
  expect(text).toContain(url);
});

test("an invitation that cannot be sent says why, and the link works all the same", async () => {
  const { url, sent_to: sentTo, mail_problem: problem } = await invite(1);
  expect([sentTo, problem]).toEqual([null, expect.stringContaining("550")]);
  const gateway = gateways[1]!;
  const token = url.split("#")[1];
  const { status, json } = await gateway.call("POST /session/invite", { token });
  expect([status, json.name]).toEqual([200, "ines@example.com"]);
});

test("without a mail server, the link is only in the response", async () => {
  expect(await invite(2)).toMatchObject({ sent_to: null, mail_problem: null });
});
