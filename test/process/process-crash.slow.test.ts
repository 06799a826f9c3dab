/** Crash guard: after an uncaught exception, the gateway logs it, finishes the requests in flight, and restarts. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { planRestart } from "../../server/process/crash-guard.ts";
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

const fake = startFake();
afterAll(() => fake.close());
let folder: ReturnType<typeof temporaryFolder>;
let running: GatewayProcess | undefined;
beforeEach(() => {
  fake.clear();
  folder = temporaryFolder();
});
afterEach(async () => {
  running?.kill("SIGKILL");
  await running?.exited;
  running = undefined;
  folder[Symbol.dispose]();
});

const preloadPath = (name: string): string => join(import.meta.dir, "preload", name);

function freePort(): number {
  const listener = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: () => undefined },
  });
  listener.stop(true);
  return listener.port;
}

async function start(
  env: Record<string, string> = {},
  preload = "crash.ts",
): Promise<GatewayProcess> {
  running = await startProcess({
    folder: folder.path,
    yaml: configFor(fake.url),
    env: { PORT: String(freePort()), ...env },
    preload: preloadPath(preload),
  });
  return running;
}

const startsOf = ({ output }: GatewayProcess): number => output().split("Base URL").length - 1;
const embed = ({ post }: GatewayProcess): Promise<Response> =>
  post("/v1/embeddings", { model: embeddingModel, input: "a" });

/** The line of the log that has the error with its stack. */
function expectLogged({ output }: GatewayProcess, event: string): void {
  const line = output()
    .split("\n")
    .find((each) => each.includes(`"event":"${event}"`));
  expect(JSON.parse(line!).error).toMatch(/an uncaught test error[\s\S]*preload\/crash\.ts/);
}

test("after an uncaught exception the error is logged with its stack, a request in flight is finished, the gateway serves again, and no file of the earlier run is open", async () => {
  const gateway = await start();
  expect((await embed(gateway)).status).toBe(200);
  const filesBefore = filesOf(gateway.pid);
  fake.script({ delayMs: 1500 });
  const slow = embed(gateway);
  await fake.arrived(2);
  gateway.kill("SIGUSR2");
  const response = await slow;
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ object: "list" });

  await until(() => startsOf(gateway) === 2);
  expectLogged(gateway, "uncaught-exception");
  expect(gateway.output()).toContain('"event":"shutdown","reason":"crash","inFlight":1');
  expect(gateway.output()).toContain('"event":"restarting","crashes":1');
  // The same address and the same process: nothing outside has to act.
  const next = await embed(gateway);
  expect(next.status).toBe(200);
  expect(filesOf(gateway.pid)).toEqual(filesBefore);
  expect(readLedger(join(folder.path, "data"))).toHaveLength(3);
  gateway.kill("SIGTERM");
  expect(await gateway.exited).toBe(0);
});

test("a gateway in a crash loop gives up with exit code 70 and logs it", async () => {
  const gateway = await start({ TEST_CRASH_EVERY_MS: "100" });
  expect(await gateway.exited).toBe(70);
  expect(startsOf(gateway)).toBe(5);
  expect(gateway.output()).toContain('"event":"crash-loop"');
  expect(gateway.output()).toContain("crashed 5 times in a row soon after its start");
});

test("a gateway that gets a signal while it drains after an unhandled rejection, which it logs with its stack, does not restart", async () => {
  const gateway = await start({ TEST_CRASH_KIND: "rejection" });
  fake.script({ delayMs: 1500 });
  const slow = embed(gateway);
  await fake.arrived(1);
  gateway.kill("SIGUSR2");
  await until(() => gateway.output().includes('"reason":"crash"'));
  gateway.kill("SIGTERM");
  expect((await slow).status).toBe(200);
  expect(await gateway.exited).toBe(70);
  expectLogged(gateway, "unhandled-rejection");
  expect(startsOf(gateway)).toBe(1);
});

test("pauses between restarts grow (exponential backoff), and reset after a longer run", () => {
  expect(planRestart(undefined, 100)).toEqual({ crashes: 1, delayMs: 0 });
  expect(planRestart("1", 100)).toEqual({ crashes: 2, delayMs: 1000 });
  expect(planRestart("3", 100)).toEqual({ crashes: 4, delayMs: 4000 });
  expect(planRestart("4", 100)).toEqual({ crashes: 5, delayMs: undefined });
  expect(planRestart("4", 120_000)).toEqual({ crashes: 1, delayMs: 0 });
});

/** The open files of a process in the data folder, without sockets and files of the runtime. */
const filesOf = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/fd`)
    .flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
      } catch {
        return [];
      }
    })
    .filter((path) => path.includes("/vexel-"))
    .map((path) => path.replace(/-[\da-f-]{36}\./, "-ID."))
    .toSorted();

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
