/** The crash guard in rare cases: a crash loop ends the gateway, and a disk that is full does not. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { InjectedFault } from "../fake-upstream/injected-fault.ts";
import { startFake } from "../fake-upstream.ts";
import {
  configFor,
  type GatewayProcess,
  readLedger,
  root,
  startProcess,
  temporaryFolder,
} from "../harness.ts";
import { bearer, embeddingModel, imageModel } from "../http/gateway-fixture.ts";
import { largePng, scriptedImageResponse } from "../images/large-image-fixture.ts";
import { until } from "../until.ts";
import { filesOf, preloadPath, startsOf } from "./process-fixture.ts";

const fake = startFake();
afterAll(() => fake.close());

const embed = ({ post }: GatewayProcess): Promise<Response> =>
  post("/v1/embeddings", { model: embeddingModel, input: "a" });

test("a gateway in a crash loop gives up with exit code 70 and logs it", async () => {
  using folder = temporaryFolder();
  const gateway = await startProcess({
    folder: folder.path,
    yaml: configFor(fake.url),
    env: { TEST_CRASH_EVERY_MS: "100" },
    preload: preloadPath("crash.ts"),
  });
  expect(await gateway.exited).toBe(70);
  expect(startsOf(gateway)).toBe(5);
  expect(gateway.output()).toContain('"event":"crash-loop"');
  expect(gateway.output()).toContain("crashed 5 times in a row soon after its start");
});

describe("a disk that is full when a request ends", () => {
  const ownFolder = temporaryFolder();
  const full = join(ownFolder.path, "disk-full");
  let gateway: GatewayProcess;
  beforeAll(async () => {
    gateway = await startProcess({
      folder: ownFolder.path,
      yaml: configFor(fake.url),
      env: {
        TEST_DISK_FULL: full,
        VEXEL_LOG_LEVEL: "info",
        VEXEL_MAX_IMAGE_REQUESTS: "1",
        VEXEL_MAX_QUEUE: "0",
      },
      preload: preloadPath("full-disk.ts"),
      // The preloaded script changes classes of the sources.
      program: root,
    });
  });
  afterAll(async () => {
    gateway.kill("SIGKILL");
    await gateway.exited;
    ownFolder[Symbol.dispose]();
  });

  const rows = () => readLedger(join(ownFolder.path, "data"));
  const count = (event: string): number => gateway.output().split(`"event":"${event}"`).length - 1;

  /** The disk is full when the upstream responds, and until the request's resources are released. */
  async function whileFull(response: InjectedFault, request: () => Promise<void>): Promise<void> {
    const [filesBefore, recoveries] = [filesOf(gateway.pid), count("ledger-recovered")];
    fake.clear();
    const { promise: isFull, resolve } = Promise.withResolvers<void>();
    fake.script({ ...response, until: isFull });
    const requested = request();
    // The gateway has accepted the request: it would refuse it if it found the disk full before.
    await fake.arrived(1);
    writeFileSync(full, "");
    resolve();
    await requested;
    rmSync(full);
    await until(() => count("ledger-recovered") > recoveries);
    await until(() => filesOf(gateway.pid).join() === filesBefore.join());
  }

  test.each([
    ["generations", true],
    ["edits", false],
  ] as const)("it does not end the gateway: %s, streamed: %p", async (operation, stream) => {
    const rowsBefore = rows().length;
    const kind = operation === "edits" ? "image_edit" : "image_generation";
    const large = scriptedImageResponse(largePng(12 * 1024 * 1024), kind, stream);
    const fields = { model: imageModel, prompt: "an otter", stream: String(stream) };
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) body.append(name, value);
    if (operation === "edits") body.append("image", new Blob([largePng(600 * 1024)]), "large.png");
    await whileFull({ response: large }, async () => {
      const response =
        operation === "edits"
          ? await fetch(`${gateway.url}/v1/images/edits`, { method: "POST", headers: bearer, body })
          : await gateway.post("/v1/images/generations", { ...fields, stream });
      expect(await response.text()).toContain("ledger_unavailable");
      // The garbage collector has run several times.
      await Bun.sleep(300);
    });
    fake.clear();
    const next = await gateway.post("/v1/images/generations", {
      model: imageModel,
      prompt: "next",
    });
    expect(next.status).toBe(200);
    expect(startsOf(gateway)).toBe(1);
    expect(gateway.output()).not.toContain("uncaught");
    expect(rows()).toHaveLength(rowsBefore + 2);
  });

  test("a response that is refused because its ledger row cannot be written is logged with the error that the client gets", async () => {
    await whileFull({}, async () => {
      const response = await embed(gateway);
      expect(response.status).toBe(503);
      const requestId = response.headers.get("x-request-id")!;
      const isLine = (line: string): boolean =>
        line.includes(requestId) && line.includes('"event":"request"');
      await until(() => gateway.output().split("\n").some(isLine));
      expect(JSON.parse(gateway.output().split("\n").find(isLine)!)).toMatchObject({
        level: "warn",
        status: 503,
        error: "ledger_unavailable",
      });
    });
  });
});
