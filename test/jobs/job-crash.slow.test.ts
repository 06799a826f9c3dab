/** Image jobs survive the end of their process, and no image is paid for twice. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { base64Of, grayImage } from "../conformance/arrange.ts";
import {
  type GatewayProcess,
  readLedger,
  startProcess,
  temporaryFolder,
  testKey,
} from "../harness.ts";
import { until } from "../until.ts";
import { endOf, type ImageJob, jobClient } from "./jobs-fixture.ts";

/** Both kinds of vendor: `/v1/images/generations` responds with the image, `/predictions` with a job. */
function startVendor() {
  const posts: string[] = [];
  const cancels: string[] = [];
  let polls = 0;
  let isDone = false;
  const image = base64Of(grayImage("an otter"));
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request): Promise<Response> => {
      const { pathname, origin } = new URL(request.url);
      if (pathname.endsWith("/cancel")) {
        cancels.push(pathname);
        return Response.json({});
      }
      const id = "p1";
      const urls = { get: `${origin}/v1/jobs/${id}`, cancel: `${origin}/v1/jobs/${id}/cancel` };
      const pending = { id, status: "processing", urls };
      if (request.method === "GET") {
        polls++;
        const output = `data:image/png;base64,${image}`;
        return Response.json(isDone ? { id, status: "succeeded", output, urls } : pending);
      }
      posts.push(pathname);
      if (pathname.includes("predictions")) return Response.json(pending, { status: 201 });
      while (!isDone) await Bun.sleep(10);
      return Response.json({ created: 1, data: [{ b64_json: image }] });
    },
  });
  return {
    origin: server.url.origin,
    posts,
    cancels,
    get polls() {
      return polls;
    },
    finish: () => {
      isDone = true;
    },
    close: () => server.stop(true),
  };
}

let folder: ReturnType<typeof temporaryFolder>;
let vendor: ReturnType<typeof startVendor>;
let running: GatewayProcess | undefined;

beforeEach(() => {
  folder = temporaryFolder();
  vendor = startVendor();
});
afterEach(async () => {
  await running?.close();
  running = undefined;
  await vendor.close();
  folder[Symbol.dispose]();
});

async function start(): Promise<GatewayProcess> {
  running = await startProcess({
    folder: folder.path,
    yaml: `
upstreams:
  - { id: queue, kind: replicate, baseUrl: "${vendor.origin}/v1", apiKey: r8-test }
  - { id: direct, kind: openai, baseUrl: "${vendor.origin}/v1", apiKey: sk-fake }
models:
  - { id: queued, kind: image, targets: [{ upstream: queue, model: otter/paint }] }
  - { id: direct, kind: image, limits: { concurrent: 1 }, targets: [{ upstream: direct, model: gpt-image-1 }] }
keys:
  - { name: test, key: ${testKey}, budget: { total: 100 } }
`,
  });
  return running;
}

const restart = async (signal: NodeJS.Signals): Promise<GatewayProcess> => {
  running?.kill(signal);
  await running?.exited;
  return start();
};

const rowsOf = ({ id }: ImageJob) =>
  readLedger(join(folder.path, "data")).filter(({ requestId }) => requestId.startsWith(id));

describe.each(["SIGKILL", "SIGTERM"] as const)("after %s", (signal) => {
  test("a job at an upstream whose API is a queue is polled again, and not sent again", async () => {
    const job = await jobClient((await start()).url).submit({
      model: "queued",
      prompt: "an otter",
    });
    await until(() => vendor.polls > 0);
    const client = jobClient((await restart(signal)).url);
    const before = vendor.polls;
    await until(() => vendor.polls > before);
    vendor.finish();
    const ended = await endOf(client, job.id);
    expect(ended).toMatchObject({ status: "completed", error: null });
    expect(ended.result?.data).toHaveLength(1);
    expect(vendor.posts).toHaveLength(1);
    expect(vendor.cancels).toEqual([]);
    await until(() => rowsOf(job).some(({ status }) => status === 200));
    expect(rowsOf(job).filter(({ images }) => images === 1)).toHaveLength(1);
    expect(rowsOf(job).filter(({ estimatedCost }) => estimatedCost !== null)).toEqual([]);
  });
});

describe("after SIGKILL", () => {
  test("a job that was sent to another upstream fails as possibly billed, and a queued one runs", async () => {
    const client = jobClient((await start()).url);
    const sent = await client.submit({ model: "direct", prompt: "sent" });
    await until(() => vendor.posts.length === 1);
    const queued = await client.submit({ model: "direct", prompt: "queued" });
    const next = jobClient((await restart("SIGKILL")).url);
    vendor.finish();
    expect(await endOf(next, sent.id)).toMatchObject({
      status: "failed",
      result: null,
      error: { code: "job_interrupted", message: expect.stringContaining("may have been billed") },
    });
    expect(await endOf(next, queued.id)).toMatchObject({ status: "completed" });
    expect(vendor.posts).toHaveLength(2);
  });
});
