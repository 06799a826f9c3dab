/**
 * `npm run test:servers`: the gateway in front of real servers with tiny models. What the gateway returns is compared
 * with what the server returns to the same request without it.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import sharp from "sharp";
import { startGateway, type TestGateway } from "../harness.ts";
import { createImage } from "../image-vendors/test-images.ts";
import { until } from "../until.ts";
import { install, type RealServer, startInfinity, startXinference } from "./servers.ts";

const timeoutMs = 1_800_000;

let infinity: RealServer;
let xinference: RealServer;
let gateway: TestGateway;

const ended: RealServer["process"][] = [];

beforeAll(async () => {
  await install();
  [infinity, xinference] = await Promise.all([startInfinity(), startXinference()]);
  ended.push(infinity.process, xinference.process);
  gateway = startGateway({
    settings: { VEXEL_CACHE_BYTES: "0" },
    yaml: `
upstreams:
  - { id: infinity, kind: infinity, baseUrl: "${infinity.baseUrl}" }
  - { id: xinference, kind: xinference, baseUrl: "${xinference.baseUrl}" }
models:
  - { id: infinity, kind: embedding, targets: [{ upstream: infinity, model: tiny }] }
  - { id: infinity-other, kind: embedding, targets: [{ upstream: infinity, model: large }] }
  - { id: xinference, kind: embedding, targets: [{ upstream: xinference, model: tiny }] }
  - { id: xinference-other, kind: embedding, targets: [{ upstream: xinference, model: large }] }
  - { id: images, kind: image, targets: [{ upstream: xinference, model: tiny-sd }] }
keys:
  - { name: test, key: sk-test-0123456789abcdef }
`,
  });
}, timeoutMs);

afterAll(async () => {
  await gateway?.close();
  for (const child of ended) child.kill();
  await Promise.all(ended.map(({ exited }) => exited));
}, timeoutMs);

interface Embeddings {
  readonly data: readonly { readonly embedding: number[] | string }[];
  readonly usage: { readonly prompt_tokens: number };
}

const post = (url: string, body: object): Promise<Response> =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

const vectorsOf = async (response: Response): Promise<number[][]> => {
  expect(response.status).toBe(200);
  const { data } = (await response.json()) as Embeddings;
  return data.map(({ embedding }) =>
    typeof embedding === "string"
      ? [...new Float32Array(new Uint8Array(Buffer.from(embedding, "base64")).buffer)]
      : embedding,
  );
};

const embed = (model: string, input: unknown, more: object = {}): Promise<Response> =>
  gateway.post("/v1/embeddings", { model, input, ...more });

const length = (vector: readonly number[]): number => Math.hypot(...vector);

/** The sum of different batches differs in the last bits of a float32. */
function expectSame(actual: readonly number[][], expected: readonly number[][]): void {
  expect(actual).toHaveLength(expected.length);
  for (const [at, vector] of expected.entries()) {
    expect(actual[at]).toHaveLength(vector.length);
    const furthest = Math.max(
      ...vector.map((number, index) => Math.abs(number - actual[at]![index]!)),
    );
    expect(furthest).toBeLessThan(1e-5);
  }
}

const sentences = Array.from({ length: 200 }, (_, at) => `the red boat ${at} on the sea`);

for (const model of ["infinity", "xinference"]) {
  describe(model, () => {
    const direct = (input: unknown): Promise<Response> => {
      const { baseUrl } = model === "infinity" ? infinity : xinference;
      return post(`${baseUrl}/embeddings`, { model: "tiny", input });
    };

    test.each([
      ["a text", "a red boat"],
      ["a list", ["a red boat", "a blue boat"]],
      ["other scripts", ["你好, 世界", "привет", "🦦"]],
      ["200 texts", sentences],
    ])("the vectors of %s are those of the server", async (_, input) => {
      const expected = await vectorsOf(await direct(input));
      expectSame(await vectorsOf(await embed(model, input)), expected);
      const base64 = await embed(model, input, { encoding_format: "base64" });
      expectSame(await vectorsOf(base64), expected);
    });

    test("token arrays have the vectors of their text", async () => {
      // cl100k_base: "hello world".
      const actual = await vectorsOf(await embed(model, [[15339, 1917]]));
      expectSame(actual, await vectorsOf(await direct(["hello world"])));
    });

    test("the own number of dimensions is accepted", async () => {
      const expected = await vectorsOf(await direct("a red boat"));
      expectSame(await vectorsOf(await embed(model, "a red boat", { dimensions: 64 })), expected);
    });

    test("another model is an error", async () => {
      const response = await embed(`${model}-other`, "a red boat");
      expect(response.status).toBe(model === "infinity" ? 502 : 404);
    });

    test("a task type is reported as dropped", async () => {
      const response = await embed(model, "a red boat", { input_type: "query" });
      expect(response.headers.get("vexel-dropped")).toBe("input_type");
      await vectorsOf(response);
    });
  });
}

test("Infinity's characters are not reported as tokens", async () => {
  const response = await embed("infinity", "a red boat on the sea");
  expect(response.headers.get("vexel-usage")).toBe("estimated");
  expect(((await response.json()) as Embeddings).usage.prompt_tokens).toBe(6);
});

test("Infinity shortens the vectors of a model that is not known, and does not normalize them", async () => {
  const [vector = []] = await vectorsOf(await embed("infinity", "a red boat", { dimensions: 32 }));
  expect(vector).toHaveLength(32);
  expect(length(vector)).toBeLessThan(0.99);
});

test("Xinference refuses another length than its model's", async () => {
  const response = await embed("xinference", "a red boat", { dimensions: 32 });
  expect(response.status).toBe(400);
});

test("both truncate a text of 400 words without an error", async () => {
  for (const model of ["infinity", "xinference"]) {
    const [long = []] = await vectorsOf(await embed(model, "boat ".repeat(400)));
    const [longer = []] = await vectorsOf(await embed(model, "boat ".repeat(500)));
    expectSame([long], [longer]);
  }
});

test(
  "requests wait for a server that is stopped for seconds, and fail over its end and return after its start",
  async () => {
    infinity.process.kill("SIGSTOP");
    const pending = embed("infinity", "a blue boat");
    await Bun.sleep(3000);
    infinity.process.kill("SIGCONT");
    await vectorsOf(await pending);
    infinity.process.kill("SIGKILL");
    await infinity.process.exited;
    expect((await embed("infinity", "a blue boat")).status).toBe(502);
    infinity = await startInfinity(Number(new URL(infinity.baseUrl).port));
    ended.push(infinity.process);
    await until(async () => (await embed("infinity", "a blue boat")).status === 200);
  },
  timeoutMs,
);

interface Images {
  readonly data: readonly { readonly b64_json?: string; readonly url?: string }[];
}

const imagesOf = async (response: Response): Promise<Buffer[]> => {
  const body = (await response.json()) as Images;
  expect({ status: response.status, body }).toMatchObject({ status: 200 });
  return body.data.map(({ b64_json = "" }) => Buffer.from(b64_json, "base64"));
};

const sizeOf = async (image: Buffer): Promise<string> => {
  const { width, height } = await sharp(image).metadata();
  return `${width}x${height}`;
};

const pixelsOf = (image: Buffer): Promise<Buffer> => sharp(image).removeAlpha().raw().toBuffer();

const generate = (more: object): Promise<Response> =>
  gateway.post("/v1/images/generations", { model: "images", prompt: "a red boat", ...more });

describe("images of Xinference", () => {
  test("an image of a seed is the one that the server generates", async () => {
    const kwargs = JSON.stringify({ seed: 7 });
    const request = { model: "tiny-sd", prompt: "a red boat", size: "64x64", kwargs };
    const direct = await imagesOf(
      await post(`${xinference.baseUrl}/images/generations`, {
        ...request,
        response_format: "b64_json",
      }),
    );
    const [image] = await imagesOf(await generate({ size: "64x64", seed: 7 }));
    expect(await sizeOf(image!)).toBe("64x64");
    expect(await pixelsOf(image!)).toEqual(await pixelsOf(direct[0]!));
    const [other] = await imagesOf(await generate({ size: "64x64", seed: 8 }));
    expect(await pixelsOf(other!)).not.toEqual(await pixelsOf(direct[0]!));
  });

  test("two images, other formats and sizes", async () => {
    const images = await imagesOf(
      await generate({ n: 2, size: "72x64", output_format: "webp", response_format: "b64_json" }),
    );
    expect(await Promise.all(images.map(sizeOf))).toEqual(["72x64", "72x64"]);
    expect((await sharp(images[0]!).metadata()).format).toBe("webp");
  });

  test("a size that is no multiple of 8 is refused", async () => {
    expect((await generate({ size: "100x60" })).status).toBe(400);
  });

  const edit = async (withMask: boolean, size?: string): Promise<Buffer> => {
    const form = new FormData();
    form.set("model", "images");
    form.set("prompt", "a red boat");
    if (size !== undefined) form.set("size", size);
    const picture = await createImage("source", { width: 96, height: 64, kind: "png" });
    form.set("image", new Blob([new Uint8Array(picture)], { type: "image/png" }), "image.png");
    if (withMask) {
      // The left half is transparent: it is edited.
      const pixels = Buffer.alloc(96 * 64 * 4, 255);
      for (let at = 0; at < 96 * 64; at++) if (at % 96 < 48) pixels[at * 4 + 3] = 0;
      const raw = { width: 96, height: 64, channels: 4 } as const;
      const mask = await sharp(pixels, { raw }).png().toBuffer();
      form.set("mask", new Blob([new Uint8Array(mask)], { type: "image/png" }), "mask.png");
    }
    const response = await fetch(`${gateway.baseURL}/images/edits`, {
      method: "POST",
      headers: { authorization: "Bearer sk-test-0123456789abcdef" },
      body: form,
    });
    const [image] = await imagesOf(response);
    return image!;
  };

  test.each([false, true])(
    "an edit has the size of the first image, with a mask: %p",
    async (withMask) => {
      expect(await sizeOf(await edit(withMask))).toBe("96x64");
      expect(await sizeOf(await edit(withMask, "auto"))).toBe("96x64");
    },
  );
});
