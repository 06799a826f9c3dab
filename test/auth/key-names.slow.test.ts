/** Spaces in API keys: a name may have them everywhere, and the text of a key, which is a Bearer token, nowhere. */
import { afterAll, expect, test } from "bun:test";
import { readText } from "../../server/config/yaml/yaml-file.ts";
import { createLog } from "../../server/lib/log.ts";
import { closeAfterAll } from "../clean-up.ts";
import { adminToken } from "../events/webhooks-fixture.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startGateway, temporaryFolder, testKey } from "../harness.ts";
import { vexel } from "../process/process-fixture.ts";
import { until } from "../until.ts";

const name = "My API Key";
const folder = temporaryFolder();
const fake = startFake();
const gateway = startGateway({
  yaml: `${configFor(fake.url).replace(/keys:[\s\S]*/, "")}keys: [{ name: ${name}, key: ${testKey} }]\n`,
  settings: { VEXEL_ADMIN_TOKEN: adminToken, VEXEL_CONSOLE: "on" },
});
closeAfterAll(gateway, fake);
afterAll(() => folder[Symbol.dispose]());

test("a key of vexel.yaml with spaces in its name works, and log and ledger have the name", async () => {
  const body = { model: "text-embedding-3-small", input: "a" };
  expect((await gateway.post("/v1/embeddings", body)).status).toBe(200);
  await until(() => gateway.log().includes(`"key":"${name}"`));
  expect(gateway.rows().at(-1)?.keyId).toBe(`file:${name}`);
});

test("a line of the text log quotes the name, so that its fields stay apart", () => {
  let text = "";
  const write = (line: string): void => {
    text += line;
  };
  const log = createLog({ level: "info", format: "text", now: () => new Date(0), write });
  log.info("request", { key: name, status: 200 });
  log.flush();
  expect(text).toEndWith(` request key="${name}" status=200\n`);
});

test("the admin API and the command line create a key of that name", async () => {
  const created = await fetch(`${gateway.url}/admin/api/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
    body: JSON.stringify({ name: `${name} 2` }),
  });
  expect(created.status).toBe(201);
  const run = (...args: string[]) => vexel(["keys", ...args], { cwd: folder.path });
  expect((await run("create", "--name", name)).err).toContain(`Created key "${name}"`);
  expect((await run("list")).out).toContain(` ${name} `);
  expect((await run("revoke", name)).out).toContain(`Revoked "${name}"`);
});

test("a key whose text has spaces is refused with the rule", () => {
  const text = `keys: [{ name: a, key: "${name} of the team" }]\n`;
  const read = readText({ text, file: "vexel.yaml", env: {} });
  expect(read).toMatchObject({
    ok: false,
    problems: [
      {
        key: "keys[0].key",
        message: "contains a space, a line break or another character that is not visible ASCII",
      },
    ],
  });
});
