/** `npm start`: a signal to npm stops the gateway. */

import { expect, test } from "bun:test";
import { readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import { root, temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";

const descendantsOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .split(" ")
    .filter((child) => child !== "")
    .flatMap((child) => [Number(child), ...descendantsOf(Number(child))]);

const programOf = (pid: number): string => basename(readlinkSync(`/proc/${pid}/exe`));

test("npm start leaves no Node process beside npm, and a signal to npm stops the gateway", async () => {
  using folder = temporaryFolder();
  const npm = Bun.spawn(["npm", "start"], {
    cwd: root,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: process.env.HOME ?? "",
      PORT: "0",
      VEXEL_DATA: folder.path,
    },
    stdout: "pipe",
    stderr: "pipe",
  });
  let text = "";
  const gather = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    for await (const chunk of stream) text += new TextDecoder().decode(chunk);
  };
  void gather(npm.stdout);
  void gather(npm.stderr);
  await until(() => /Base URL/.test(text));
  const url = /Base URL {2}(\S+)\/v1/.exec(text)?.[1] ?? "";
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  const below = descendantsOf(npm.pid).map((pid) => ({ pid, program: programOf(pid) }));
  // A Node process takes 40 MB: only npm itself stays.
  expect(below.filter(({ program }) => program.startsWith("node"))).toEqual([]);
  const [gateway] = below.filter(({ program }) => program.startsWith("bun"));
  const environment = readFileSync(`/proc/${gateway?.pid}/environ`, "utf8").split("\0");
  expect(environment).toContain("BUN_CONFIG_MAX_HTTP_REQUESTS=65535");
  npm.kill("SIGTERM");
  await until(() => /"event":"stopped"/.test(text));
  expect(await fetch(`${url}/healthz`).catch(() => "gone")).toBe("gone");
});
