/** Gateways that are stopped while they generate images. */
import { afterAll, afterEach, beforeEach, expect } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { startFake } from "../fake-upstream.ts";
import { configFor, type GatewayProcess, startProcess, temporaryFolder } from "../harness.ts";
import { bearer, imageModel } from "../http/gateway-fixture.ts";
import { until } from "../until.ts";

/** The upstream, and gateways that are killed after each test of the file that calls this. */
export function imageGateways() {
  const fake = startFake();
  afterAll(() => fake.close());
  const gateways: GatewayProcess[] = [];
  let folder: ReturnType<typeof temporaryFolder>;
  beforeEach(() => {
    fake.clear();
    folder = temporaryFolder();
  });
  afterEach(async () => {
    await Promise.all(gateways.splice(0).map((gateway) => gateway.close()));
    folder[Symbol.dispose]();
  });
  return {
    fake,
    /** The data folder of the gateway with this name. */
    dataOf: (name: string): string => join(folder.path, name, "data"),
    /** Two starts with the same name use the same data folder. */
    start: async (name: string, env: Record<string, string> = {}): Promise<GatewayProcess> => {
      const path = join(folder.path, name);
      mkdirSync(path, { recursive: true });
      const gateway = await startProcess({
        folder: path,
        yaml: configFor(fake.url),
        env: { VEXEL_DRAIN_TIMEOUT: "1", ...env },
      });
      gateways.push(gateway);
      return gateway;
    },
    /** The requests that the upstream has received, each of which it bills. */
    paid: (): number => fake.requests.filter(({ method }) => method === "POST").length,
    /** Requests an image with an Idempotency-Key, and disconnects while the upstream generates it. */
    generateAndDisconnect: async (gateway: GatewayProcess, key = "k1"): Promise<void> => {
      const client = new AbortController();
      const request = fetch(`${gateway.url}/v1/images/generations`, {
        method: "POST",
        headers: { ...bearer, "content-type": "application/json", "idempotency-key": key },
        body: JSON.stringify({ model: imageModel, prompt: "an otter", stream: false }),
        signal: client.signal,
      }).catch(() => undefined);
      await fake.arrived(1);
      client.abort();
      await request;
    },
  };
}

interface Told {
  readonly status: number;
  readonly shouldRetry: string | null;
  readonly retryAfter: string | null;
  readonly code: string | undefined;
  readonly text: string;
}

export async function read(response: Response): Promise<Told> {
  const text = await response.text();
  return {
    status: response.status,
    shouldRetry: response.headers.get("x-should-retry"),
    retryAfter: response.headers.get("retry-after"),
    code: /"code":"(\w+)"/.exec(text)?.[1],
    text,
  };
}

export const generate = (
  gateway: GatewayProcess,
  { stream = false, key = "k1" }: { stream?: boolean; key?: string } = {},
): Promise<Response> =>
  gateway.post(
    "/v1/images/generations",
    { model: imageModel, prompt: "an otter", stream },
    { "idempotency-key": key },
  );
/** Signals the gateway, and waits until its drain has timed out. */
export async function drain(gateway: GatewayProcess): Promise<void> {
  gateway.kill("SIGTERM");
  await until(() => gateway.output().includes('"event":"shutdown-waits-for-images"'));
}

/** Signals the gateway twice: it ends without the requests in flight. */
export async function stopAtOnce(gateway: GatewayProcess): Promise<void> {
  await drain(gateway);
  gateway.kill("SIGTERM");
  expect(await gateway.exited).toBe(0);
}
