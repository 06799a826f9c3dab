/** A poll whose response repeats the id of another operation is refused: its image could be another client's. */
import { describe, expect, test } from "bun:test";
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";
import type { PendingOperation, Vendor } from "../../server/upstream/adapter.ts";
import { bfl } from "../../server/upstream/adapters/bfl.ts";
import { dashscope } from "../../server/upstream/adapters/dashscope/dashscope.ts";
import { fal } from "../../server/upstream/adapters/fal/fal.ts";
import { fireworks } from "../../server/upstream/adapters/fireworks.ts";
import { luma } from "../../server/upstream/adapters/luma/luma.ts";
import { replicate } from "../../server/upstream/adapters/replicate/replicate.ts";
import { runware } from "../../server/upstream/adapters/runware/runware.ts";
import { stability } from "../../server/upstream/adapters/stability/stability.ts";
import { pollOperation } from "../../server/upstream/poll-operation.ts";
import { upstreamResponseOf } from "../laws/adapter-cases.ts";
import { errorKindOf } from "../laws/adapter-responses.ts";
import { query, targetOf } from "./image-adapter-fixture.ts";

const image = "https://example.com/image.png";
const falLinks = (id: string) => {
  const url = `https://queue.fal.run/fal-ai/flux/requests/${id}`;
  return { response_url: url, status_url: `${url}/status` };
};
const replicateLinks = (id: string) => ({ get: `https://api.replicate.com/v1/predictions/${id}` });

/** The response that accepts an operation, and a response to its poll, both with the id of the operation. */
const vendors: Record<string, [Vendor, string, (id: string) => object, (id: string) => object]> = {
  bfl: [
    bfl,
    "flux-2-pro",
    (id) => ({ id }),
    (id) => ({ id, status: "Ready", result: { sample: image } }),
  ],
  dashscope: [
    dashscope,
    "wan2.2-t2i-flash",
    (task_id) => ({ output: { task_id, task_status: "PENDING" } }),
    (task_id) => ({ output: { task_id, task_status: "SUCCEEDED", results: [{ url: image }] } }),
  ],
  fal: [
    fal,
    "fal-ai/flux/dev",
    (request_id) => ({ status: "IN_QUEUE", request_id, ...falLinks(request_id) }),
    (request_id) => ({ request_id, images: [{ url: image }] }),
  ],
  fireworks: [
    fireworks,
    "flux-kontext-pro",
    (request_id) => ({ request_id }),
    (id) => ({ id, status: "Ready", result: { sample: image } }),
  ],
  luma: [
    luma,
    "photon-1",
    (id) => ({ id, state: "queued" }),
    (id) => ({ id, state: "completed", assets: { image } }),
  ],
  replicate: [
    replicate,
    "a/b",
    (id) => ({ id, status: "starting", urls: replicateLinks(id) }),
    (id) => ({ id, status: "succeeded", output: image }),
  ],
  runware: [
    runware,
    "runware:100@1",
    (taskUUID) => ({ data: [{ taskUUID, taskType: "imageInference" }] }),
    (taskUUID) => ({ data: [{ taskUUID, imageURL: image }] }),
  ],
  stability: [
    stability,
    "ultra",
    (id) => ({ id }),
    // Stability's response with the image has no id.
    (id) => ({ id, status: "in-progress" }),
  ],
};

describe("the response to a poll", () => {
  test.each(Object.keys(vendors))(
    "of %s is refused if it is about another operation",
    async (name) => {
      const [{ adapter }, model, accepted, done] = vendors[name]!;
      const target = targetOf(name, model);
      const read = (body: object, operationId?: string) =>
        adapter.generations!.fromUpstream(upstreamResponseOf(JSON.stringify(body)), {
          query: query(),
          target,
          temp: noRequestTemp,
          ...(operationId !== undefined && { operationId }),
        });
      const { kind, operationId } = (await read(accepted("job-1"))) as PendingOperation;
      expect({ kind, operationId }).toEqual({ kind: "pending", operationId: "job-1" });
      await read(done("job-1"), operationId);
      const error = await errorKindOf(async () => read(done("job-2"), operationId));
      expect(error?.kind).toBe("upstream_invalid");
      expect(error?.message).toContain("another operation");
    },
  );

  test("is compared with the operation that the request started", async () => {
    const [{ adapter }, model, accepted, done] = vendors.replicate!;
    const target = targetOf("replicate", model);
    const runJob = async (polled: readonly object[]) => {
      const responses = [...polled];
      const job = { query: query(), target, temp: noRequestTemp };
      const first = adapter.generations!.fromUpstream(
        upstreamResponseOf(JSON.stringify(accepted("job-1"))),
        job,
      );
      return pollOperation(
        {
          ...job,
          adapter: adapter.generations!,
          signal: new AbortController().signal,
          send: async () => upstreamResponseOf(JSON.stringify(responses.shift())),
        },
        (await first) as PendingOperation,
      );
    };
    expect(await runJob([accepted("job-1"), done("job-1")])).toMatchObject({ kind: "buffered" });
    const error = await errorKindOf(() => runJob([accepted("job-1"), done("job-2")]));
    expect(error?.kind).toBe("upstream_invalid");
  });
});
