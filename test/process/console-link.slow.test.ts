/** The console of a gateway that was started without settings. */
import { expect, test } from "bun:test";
import type { Session } from "../../contract/admin.ts";
import { startProcess, temporaryFolder } from "../harness.ts";

const consoleLine = /^ {2}Console {3}(\S+)(.*)$/m;

test("the first start prints a link that creates the administrator, later starts the address of the console", async () => {
  using folder = temporaryFolder();
  const first = await startProcess({ folder: folder.path });
  const [, link = "", hint] = consoleLine.exec(first.output()) ?? [];
  expect(link).toStartWith(`${first.url}/console/setup#`);
  expect(hint).toContain("works once");
  const landing = await (await fetch(`${first.url}/`)).text();
  expect(landing).toContain('<a href="/console">');
  const response = await fetch(`${first.url}/admin/api/session/setup`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      name: "Ada",
      password: "correct horse battery",
      token: link.split("#")[1],
    }),
  });
  expect(((await response.json()) as Session).user.role).toBe("admin");
  first.kill("SIGTERM");
  await first.exited;
  const second = await startProcess({ folder: folder.path });
  const [, address = ""] = consoleLine.exec(second.output()) ?? [];
  expect(address).toBe(`${second.url}/console`);
  second.kill("SIGTERM");
  await second.exited;
}, 120_000);

test("VEXEL_CONSOLE=off removes the console from the start message and from the landing page", async () => {
  using folder = temporaryFolder();
  const gateway = await startProcess({ folder: folder.path, env: { VEXEL_CONSOLE: "off" } });
  expect(gateway.output()).not.toContain("Console");
  expect(await (await fetch(`${gateway.url}/`)).text()).not.toContain("/console");
  gateway.kill("SIGTERM");
  await gateway.exited;
}, 60_000);
