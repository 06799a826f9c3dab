/** AUTOMATIC1111 images: each client gets its own partial images, and images of the requested checkpoint. */
import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";
import type { UpstreamRequest, UpstreamResponse } from "../../server/upstream/adapter.ts";
import { automatic1111 } from "../../server/upstream/adapters/automatic1111.ts";
import { createUpstreamClient } from "../../server/upstream/client.ts";
import type {
  EditQuery,
  GenerationQuery,
  ImageEvent,
  Target,
} from "../../server/upstream/contract.ts";
import { createCredentialCache } from "../../server/upstream/credentials/credential-cache.ts";
import { readAll } from "../chunks.ts";
import { fileOf, upstreamResponseOf } from "../laws/adapter-cases.ts";
import { query } from "./image-adapter-fixture.ts";

const checkpoint = "v1-5-pruned-emaonly";
const target: Target = {
  model: `${checkpoint}.safetensors [6ce0161689]`,
  upstream: { id: "hidden", kind: "automatic1111", headers: {}, options: {} },
};
const responseOf = (images: readonly string[], info: object = {}): UpstreamResponse =>
  upstreamResponseOf(
    JSON.stringify({
      images,
      parameters: {},
      info: JSON.stringify({ sd_model_name: checkpoint, all_seeds: [7, 8], ...info }),
    }),
  );

const clientWith = (send: (request: UpstreamRequest) => Promise<UpstreamResponse>) =>
  createUpstreamClient({
    adapters: new Map([["automatic1111", automatic1111.adapter]]),
    builtInModels: new Map(),
    send,
    credentials: createCredentialCache({ send, now: () => 0, env: {} }),
    now: () => 0,
  });

const { signal } = new AbortController();
const generate = (
  send: (request: UpstreamRequest) => Promise<UpstreamResponse>,
  more: Partial<GenerationQuery>,
) =>
  clientWith(send).generations({
    query: query(more),
    target,
    signal: () => signal,
    temp: noRequestTemp,
  });

const bodyOf = ({ body }: UpstreamRequest): Record<string, unknown> =>
  JSON.parse(String(body)) as Record<string, unknown>;

/** Two tasks run at the same time; a progress request for a task gets that task's partial image, as in the web UI. */
function serverWithTwoTasks() {
  const done = new Map<string, PromiseWithResolvers<UpstreamResponse>>();
  const requestCounts = new Map<string, number>();
  return async (request: UpstreamRequest): Promise<UpstreamResponse> => {
    const { pathname } = new URL(request.url);
    const { prompt, force_task_id, id_task } = bodyOf(request);
    if (pathname === "/sdapi/v1/txt2img") {
      const waiting = Promise.withResolvers<UpstreamResponse>();
      done.set(`${force_task_id}`, waiting);
      requestCounts.set(`${force_task_id}`, 0);
      return waiting.promise.then(() => responseOf([`of ${prompt}`]));
    }
    expect(pathname).toBe("/internal/progress");
    const task = String(id_task);
    const count = (requestCounts.get(task) ?? Number.NaN) + 1;
    requestCounts.set(task, count);
    if (count === 2) done.get(task)?.resolve(responseOf([]));
    const live_preview = `data:image/png;base64,${task} ${count}`;
    return upstreamResponseOf(
      JSON.stringify({ active: true, live_preview, id_live_preview: count }),
    );
  };
}

async function eventsOf(response: Awaited<ReturnType<typeof generate>>): Promise<ImageEvent[]> {
  if (response.kind !== "stream") throw new Error("it is not a stream");
  return Array.fromAsync(response.events);
}

describe("partial images", () => {
  test("are of the client's own image, while another client's image is generated", async () => {
    const send = serverWithTwoTasks();
    const body = { stream: true, options: { partial_images: 2 } };
    const streams = await Promise.all(
      ["an otter", "a seal"].map(async (prompt) =>
        eventsOf(await generate(send, { ...body, prompt })),
      ),
    );
    const tasks = streams.map((events) => {
      const partialImages = events.flatMap((event) => (event.type === "partial" ? [event] : []));
      expect(partialImages.map(({ index }) => index)).toEqual([0, 1]);
      const named = partialImages.map(({ image }) =>
        (image as { base64: string }).base64.replace(/ \d$/, ""),
      );
      expect(new Set(named).size).toBe(1);
      return named[0];
    });
    expect(new Set(tasks).size).toBe(2);
    const last = streams.map((events) => events.at(-1));
    expect(
      last.map((event) => event?.type === "buffered" && event.response.results[0]?.image),
    ).toEqual([
      { kind: "base64", base64: "of an otter" },
      { kind: "base64", base64: "of a seal" },
    ]);
  });

  test("are not requested if the client wants none, and then the request has no task id", async () => {
    const requests: UpstreamRequest[] = [];
    const send = async (request: UpstreamRequest) => {
      requests.push(request);
      return responseOf(["image"]);
    };
    await eventsOf(await generate(send, { stream: true }));
    await generate(send, { options: { partial_images: 2 } });
    expect(requests).toHaveLength(2);
    for (const request of requests) expect(bodyOf(request)).not.toHaveProperty("force_task_id");
  });
});

describe("a checkpoint", () => {
  const generatedBy = async (model: string, name: unknown): Promise<string> => {
    const client = clientWith(async () => responseOf(["image"], { sd_model_name: name }));
    const { kind } = await client
      .generations({
        query: query(),
        target: { ...target, model },
        signal: () => signal,
        temp: noRequestTemp,
      })
      .catch((error) => {
        if (!(error instanceof GatewayError)) throw error;
        return { kind: error.kind };
      });
    return kind;
  };

  test("may have any of the names that the web UI accepts", async () => {
    const names = [
      checkpoint,
      `${checkpoint}.safetensors`,
      `${checkpoint}.ckpt`,
      `${checkpoint}.safetensors [6ce0161689]`,
      `${checkpoint} [6ce0161689]`,
      `sd/${checkpoint}.safetensors`,
      `sd\\${checkpoint}.safetensors`,
      `sd_${checkpoint}`,
      "6ce0161689",
      "81761151",
    ];
    for (const name of names)
      expect(`${name}: ${await generatedBy(name, checkpoint)}`).toBe(`${name}: buffered`);
  });

  test("that the server does not have is an error, not an image of another checkpoint", async () => {
    for (const name of ["sd_xl_base_1.0", "v1-5", `${checkpoint}-v2.safetensors`]) {
      expect(await generatedBy(name, checkpoint)).toBe("model_not_found");
    }
  });

  test("is assumed to match if the server does not report it", async () => {
    expect(await generatedBy("sd_xl_base_1.0", undefined)).toBe("buffered");
    expect(await generatedBy("sd_xl_base_1.0", null)).toBe("buffered");
  });
});

test("only the requested images are delivered, with their seeds; no grid, no masks", async () => {
  const send = async () => responseOf(["grid", "one", "two", "mask"], { index_of_first_image: 1 });
  const response = await generate(send, { options: { n: 2 } });
  expect(response).toMatchObject({
    results: [
      { image: { kind: "base64", base64: "one" }, extraFields: { seed: 7 } },
      { image: { kind: "base64", base64: "two" }, extraFields: { seed: 8 } },
    ],
  });
});

describe("an edit", () => {
  const file = fileOf("image", "a.png", "image/png", Uint8Array.of(137, 80, 78, 71));
  const bodyFor = async (more: Partial<EditQuery>): Promise<Record<string, unknown>> => {
    const edit: EditQuery = { ...query(), images: [{ kind: "file", file }], files: [], ...more };
    const body = automatic1111.adapter.edits?.toUpstream(edit, target).body;
    if (typeof body !== "object") throw new Error("it has no image");
    return JSON.parse((await readAll(body.open())).toString());
  };
  const mask = { kind: "file", file } as const;
  const options = { size: "1024x768" };

  test("with a mask has the requested size, or that of the input image", async () => {
    expect(await bodyFor({ mask, options })).toMatchObject({
      width: 1024,
      height: 768,
      inpaint_full_res: false,
    });
    expect(await bodyFor({ mask })).toMatchObject({ inpaint_full_res: true });
  });

  test("without a mask is not distorted to another aspect ratio", async () => {
    expect(await bodyFor({})).toMatchObject({ resize_mode: 1 });
    expect(await bodyFor({ options })).not.toHaveProperty("resize_mode");
  });

  test("uses the client's values of the web UI's own fields", async () => {
    const extraFields = { inpaint_full_res: true, denoising_strength: 0.4 };
    expect(await bodyFor({ mask, options, extraFields })).toMatchObject(extraFields);
  });
});
