/** `npm start` as an operator stops it: by a signal to npm. */
import { expect, test } from "bun:test";
import { root, temporaryFolder } from "../harness.ts";
import { until } from "./edge-fixture.ts";

test("a signal to npm stops the gateway that npm start began", async () => {
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
  await until(() => /Base URL/.test(text), 20_000);
  const url = /Base URL {2}(\S+)\/v1/.exec(text)?.[1] ?? "";
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  npm.kill("SIGTERM");
  await until(() => /"event":"stopped"/.test(text), 10_000);
  expect(await fetch(`${url}/healthz`).catch(() => "gone")).toBe("gone");
});
