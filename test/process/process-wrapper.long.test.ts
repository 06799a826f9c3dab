/** The Node wrapper of the command `vexel`: signals of a terminal, and a gateway that is killed. */
import { expect, test } from "bun:test";
import { temporaryFolder } from "../harness.ts";
import { killWrappersAfterEach, startWrapper, stopBy } from "./wrapper-fixture.ts";

killWrappersAfterEach();

test.each(["SIGINT", "SIGHUP"] as const)("%s reaches the gateway", (signal) => stopBy(signal));

test("killing the gateway ends the wrapper with an error", async () => {
  using folder = temporaryFolder();
  const { child, pid } = await startWrapper(folder.path);
  process.kill(pid, "SIGKILL");
  expect(await child.exited).not.toBe(0);
});
