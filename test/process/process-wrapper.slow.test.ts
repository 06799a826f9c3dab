/** The launchers of the command `vexel`, which start Bun: signals reach it, and no process is orphaned. */

import { expect, test } from "bun:test";
import { readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";
import { isAlive } from "./process-fixture.ts";
import {
  killWrappersAfterEach,
  launchers,
  spawnWrapper,
  startWrapper,
  stopBy,
} from "./wrapper-fixture.ts";

killWrappersAfterEach();

// The other signals: process-wrapper.long.test.ts.
test.each(launchers)("SIGTERM reaches the gateway that %s starts", (launcher) =>
  stopBy(launcher, "SIGTERM"),
);

test("the process that a user starts is the gateway itself", async () => {
  using folder = temporaryFolder();
  const { child, pid } = await startWrapper(folder.path, "sh");
  expect(pid).toBe(child.pid);
  expect(readlinkSync(`/proc/${pid}/exe`)).toEndWith("/bun.exe");
});

test.each(launchers)(
  "%s serves, allows many concurrent upstream requests, and its death ends the gateway",
  async (launcher) => {
    using folder = temporaryFolder();
    const { child, pid, url } = await startWrapper(folder.path, launcher);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    const environment = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
    expect(environment).toContain("BUN_CONFIG_MAX_HTTP_REQUESTS=65535");
    child.kill("SIGKILL");
    await child.exited;
    await until(() => !isAlive(pid));
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  },
);

test.each<[readonly string[], number, string]>([
  [
    ["--version"],
    0,
    JSON.parse(readFileSync(join(import.meta.dir, "../../package.json"), "utf8")).version,
  ],
  [["nonsense"], 2, 'unknown command "nonsense"'],
])("the launchers pass on arguments and the exit code: %p", async (args, code, text) => {
  for (const launcher of launchers) {
    using folder = temporaryFolder();
    const { child, output, gathering } = spawnWrapper(folder.path, launcher, args);
    expect(await child.exited).toBe(code);
    await gathering;
    expect(output()).toContain(text);
  }
});
