/** The gateway in front of real Infinity and Xinference servers with tiny models. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import sharp from "sharp";
import { startGateway, type TestGateway } from "../harness.ts";
import { createImage } from "../image-vendors/test-images.ts";
import { until } from "../until.ts";
import {
  declareEmbeddingCases,
  type Embeddings,
  expectSame,
  post,
  vectorsOf,
} from "./embedding-cases.ts";
import { describeServers, type RealServer, stopServers, timeoutMs } from "./servers.ts";
import { installTorchServers, startInfinity, startXinference } from "./torch-servers.ts";

const otherKey = "sk-other-0123456789abcdef";

describeServers(["infinity", "xinference"], () => {
  let infinity: RealServer;
  let xinference: RealServer;
  let gateway: TestGateway;

  beforeAll(async () => {
    await installTorchServers();
    [infinity, xinference] = await Promise.all([startInfinity(), startXinference()]);
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
  - { name: other, key: ${otherKey} }
`,
    });
  }, timeoutMs);

  afterAll(async () => {
    await gateway?.close();
    await stopServers();
  }, timeoutMs);

  const embed = (model: string, input: unknown, more: object = {}): Promise<Response> =>
    gateway.post("/v1/embeddings", { model, input, ...more });

  const length = (vector: readonly number[]): number => Math.hypot(...vector);

  describe.each(["infinity", "xinference"])("%s", (model) => {
    const direct = (input: unknown): Promise<Response> => {
      const { baseUrl } = model === "infinity" ? infinity : xinference;
      return post(`${baseUrl}/embeddings`, { model: "tiny", input });
    };

    declareEmbeddingCases({ gateway: () => gateway, model, direct });

    test("another model is an error", async () => {
      const response = await embed(`${model}-other`, "a red boat");
      expect(response.status).toBe(model === "infinity" ? 502 : 404);
    });
  });

  test("Infinity's characters are not reported as tokens", async () => {
    const response = await embed("infinity", "a red boat on the sea");
    expect(response.headers.get("vexel-usage")).toBe("estimated");
    expect(((await response.json()) as Embeddings).usage.prompt_tokens).toBe(6);
  });

  test("Infinity shortens the vectors of a model that is not known, and does not normalize them", async () => {
    const [vector = []] = await vectorsOf(
      await embed("infinity", "a red boat", { dimensions: 32 }),
    );
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

    test("an image is delivered behind a link, although the link of the server is a path on its disk", async () => {
      const response = await generate({ size: "64x64", response_format: "url" });
      const { data } = (await response.json()) as Images;
      const image = await fetch(data[0]!.url!);
      expect(await sizeOf(Buffer.from(await image.arrayBuffer()))).toBe("64x64");
    });

    test("a size that is no multiple of 8 is refused", async () => {
      expect((await generate({ size: "100x60" })).status).toBe(400);
    });

    test("requests that the server answers with 500 take it from no other client that uses it", async () => {
      const generateAsOther = () =>
        gateway.post(
          "/v1/images/generations",
          { model: "images", prompt: "a boat", size: "64x64" },
          { authorization: `Bearer ${otherKey}` },
        );
      await imagesOf(await generateAsOther());
      for (let turn = 0; turn < 8; turn++) {
        const response = await generate({ size: "64x64", num_inference_steps: `bad ${turn}` });
        expect(response.status).toBe(502);
      }
      await imagesOf(await generateAsOther());
      expect(gateway.log()).not.toContain("target-ejected");
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
});
