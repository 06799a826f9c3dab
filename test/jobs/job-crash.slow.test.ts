/** Image jobs survive the end of their process, and no image is paid for twice. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { type GatewayProcess, readLedger, startProcess, temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";
import { endOf, type ImageJob, jobClient } from "./jobs-fixture.ts";
import { startVendor, vendorConfig } from "./vendor-fixture.ts";

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

async function start(yaml = vendorConfig(vendor.origin)): Promise<GatewayProcess> {
  running = await startProcess({ folder: folder.path, yaml });
  return running;
}

const restart = async (signal: NodeJS.Signals, yaml?: string): Promise<GatewayProcess> => {
  running?.kill(signal);
  await running?.exited;
  return start(yaml);
};

const rowsOf = ({ id }: ImageJob) =>
  readLedger(join(folder.path, "data")).filter(({ requestId }) => requestId.startsWith(id));

/** Polled again after the restart, and neither sent again nor canceled. */
async function expectOneImage(url: string, job: ImageJob): Promise<void> {
  const before = vendor.polls;
  await until(() => vendor.polls > before);
  vendor.finish();
  const ended = await endOf(jobClient(url), job.id);
  expect(ended).toMatchObject({ status: "completed", error: null });
  expect(ended.result?.data).toHaveLength(1);
  expect(vendor.posts.filter((path) => path.includes("predictions"))).toHaveLength(1);
  expect(vendor.cancels).toEqual([]);
  await until(() => rowsOf(job).some(({ status }) => status === 200));
  expect(rowsOf(job).filter(({ images }) => images === 1)).toHaveLength(1);
  expect(rowsOf(job).filter(({ estimatedCost }) => estimatedCost !== null)).toEqual([]);
}

test("after SIGTERM a job at an upstream whose API is a queue is polled again, and not sent again", async () => {
  const job = await jobClient((await start()).url).submit({ model: "queued", prompt: "an otter" });
  await until(() => vendor.polls > 0);
  await expectOneImage((await restart("SIGTERM")).url, job);
});

test("after SIGKILL such a job is polled again, one that was sent to another upstream fails as possibly billed, and a queued one runs", async () => {
  const client = jobClient((await start()).url);
  const job = await client.submit({ model: "queued", prompt: "an otter" });
  await until(() => vendor.polls > 0);
  const sent = await client.submit({ model: "direct", prompt: "sent" });
  await until(() => vendor.posts.length === 2);
  const queued = await client.submit({ model: "direct", prompt: "queued" });
  const { url } = await restart("SIGKILL");
  await expectOneImage(url, job);
  const next = jobClient(url);
  expect(await endOf(next, sent.id)).toMatchObject({
    status: "failed",
    result: null,
    error: { code: "job_interrupted", message: expect.stringContaining("may have been billed") },
  });
  expect(await endOf(next, queued.id)).toMatchObject({ status: "completed" });
  expect(vendor.posts).toHaveLength(3);
});

test("an image that an earlier process has sent is charged to the project, and delivered, although its API key was revoked meanwhile", async () => {
  const mateKey = "sk-mate-0123456789abcdef";
  const yaml = `${vendorConfig(vendor.origin).replace("name: test", "$&, project: shop")}
  - { name: mate, key: ${mateKey}, project: shop }
projects: [{ name: shop }]
`;
  const job = await jobClient((await start(yaml)).url).submit({ model: "queued", prompt: "otter" });
  await until(() => vendor.polls > 0);
  const { url } = await restart("SIGKILL", yaml.replace(/.*name: test.*\n/, ""));
  vendor.finish();
  expect(await endOf(jobClient(url, mateKey), job.id)).toMatchObject({ status: "completed" });
  await until(() => rowsOf(job).length > 0);
  expect(rowsOf(job)).toMatchObject([{ project: "shop", status: 200, cost: 0.1 }]);
});

/** What the rows of the job were charged, in US dollars. */
const chargedTo = (job: ImageJob): number =>
  rowsOf(job).reduce((sum, { cost, estimatedCost }) => sum + (cost ?? 0) + (estimatedCost ?? 0), 0);

test("an image whose target was removed while no process ran is charged its estimate", async () => {
  const job = await jobClient((await start()).url).submit({ model: "queued", prompt: "an otter" });
  await until(() => vendor.polls > 0);
  const yaml = vendorConfig(vendor.origin).replace("otter/paint", "otter/other");
  const { url } = await restart("SIGKILL", yaml);
  expect(await endOf(jobClient(url), job.id)).toMatchObject({
    status: "failed",
    error: { code: "job_interrupted" },
  });
  await until(() => rowsOf(job).length > 0);
  expect(chargedTo(job)).toBeCloseTo(0.1, 9);
});
