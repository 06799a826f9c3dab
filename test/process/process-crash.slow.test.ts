/** Crash guard: after an uncaught exception, the gateway logs it, finishes the requests in flight, and restarts. */

import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { planRestart } from "../../server/process/crash-guard.ts";
import { startFake } from "../fake-upstream.ts";
import {
  configFor,
  type GatewayProcess,
  readLedger,
  startProcess,
  temporaryFolder,
} from "../harness.ts";
import { embeddingModel } from "../http/gateway-fixture.ts";
import { until } from "../until.ts";
import { filesOf, preloadPath, startsOf } from "./process-fixture.ts";

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
