/** The launchers of the command `vexel`: signals of a terminal, and a gateway that is killed. */
import { expect, test } from "bun:test";
import { temporaryFolder } from "../harness.ts";
import { killWrappersAfterEach, launchers, startWrapper, stopBy } from "./wrapper-fixture.ts";

killWrappersAfterEach();

test.each(["SIGINT", "SIGHUP"] as const)("%s reaches the gateway", async (signal) => {
  for (const launcher of launchers) await stopBy(launcher, signal);
});

test.each(launchers)(
  "killing the gateway that %s started ends it with an error",
  async (launcher) => {
    using folder = temporaryFolder();
    const { child, pid } = await startWrapper(folder.path, launcher);
    process.kill(pid, "SIGKILL");
    expect(await child.exited).not.toBe(0);
  },
);
