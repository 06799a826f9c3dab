/** `usage` is in every response whose OpenAI type requires it: reported by the upstream, or estimated and marked so. */

import { beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import OpenAI from "openai";
import { countTokens } from "../../server/upstream/tokenizers.ts";
import { closeAfterAll } from "../clean-up.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startGateway, testKey } from "../harness.ts";
import { embeddingResponse } from "./upstream-response.ts";

const fake = startFake();
const settings = { VEXEL_CACHE_BYTES: "8000000", VEXEL_MAX_INPUTS: "3000" };
const gateway = startGateway({ yaml: configFor(fake.url), settings });
const next = startGateway({
  yaml: `
upstreams: [{ id: first, kind: vexel, baseUrl: "${gateway.baseURL}", apiKey: ${testKey} }]
models:
  - { id: text-embedding-3-small, kind: embedding, price: { input: 1 }, targets: [{ upstream: first, model: text-embedding-3-small }] }
  - { id: dall-e-3, kind: image, targets: [{ upstream: first, model: dall-e-3 }] }
  - { id: gpt-image-2, kind: image, targets: [{ upstream: first, model: gpt-image-2 }] }
keys: [{ name: test, key: ${testKey} }]
`,
});
closeAfterAll(next, gateway, fake);
beforeEach(() => fake.clear());

const model = "text-embedding-3-small";
const unreported = { usage: "absent" } as const;
const responseWith = (usage: { prompt_tokens: number; total_tokens: number }, fields = {}) =>
  embeddingResponse(Array(1536).fill(0.5), usage, { model, ...fields });

interface Embeddings {
  usage: { prompt_tokens: number; total_tokens: number };
}
const embed = async (input: unknown, more: object = {}, at = gateway) => {
  const response = await at.post("/v1/embeddings", { model, input, ...more });
  const { usage } = (await response.json()) as Embeddings;
  return { usage, header: response.headers.get("vexel-usage") };
};
const lastRow = (at = gateway) => at.rows().at(-1);

describe("the usage of embeddings", () => {
  test.each(["", "an-extra-member"])("is 0 where the upstream reports 0 (%p)", async (extra) => {
    const uncounted = { prompt_tokens: 0, total_tokens: 0 };
    fake.script(responseWith(uncounted, extra ? { id: extra } : {}));
    const plain = { encoding_format: "float", user: `someone ${extra}` };
    const { usage, header } = await embed(`zero ${extra}`, plain);
    expect(usage).toEqual(uncounted);
    expect(header).toBeNull();
    // An input has at least one token, so the ledger records the usage as unknown.
    expect(lastRow()).toMatchObject({ inputTokens: null, upstreamTokens: null, cost: null });
  });

  test.each(["float", "base64"])(
    "has the total that the upstream reports, and the ledger its input tokens (%s)",
    async (encoding_format) => {
      const usage = { prompt_tokens: 5, total_tokens: 9 };
      fake.script(responseWith(usage));
      expect((await embed(`five of nine, ${encoding_format}`, { encoding_format })).usage).toEqual(
        usage,
      );
      expect(lastRow()).toMatchObject({ inputTokens: 5, upstreamTokens: 5 });
    },
  );

  test("is estimated if the reported total is implausible", async () => {
    fake.script(responseWith({ prompt_tokens: 5, total_tokens: 1e12 }));
    const { usage: sent, header } = await embed("impossible");
    expect([sent.total_tokens, header]).toEqual([await countTokens(["impossible"]), "estimated"]);
    expect(lastRow()).toMatchObject({ inputTokens: null });
  });

  test.each(["float", "base64"])(
    "is counted if the upstream reports none (%s)",
    async (encoding_format) => {
      const text = `The quick brown fox jumped over the lazy dog, in ${encoding_format}`;
      const tokens = await countTokens([text]);
      expect(tokens).toBeGreaterThan(10);
      fake.script(unreported);
      const requested = await embed(text, { encoding_format });
      expect(requested).toEqual({
        usage: { prompt_tokens: tokens, total_tokens: tokens },
        header: "estimated",
      });
      expect(lastRow()).toMatchObject({ inputTokens: null, upstreamTokens: null, cost: null });
      // The cached response reports the same.
      expect(await embed(text, { encoding_format })).toEqual(requested);
      expect(await embed(text, { encoding_format })).toEqual(requested);
      expect(fake.requests).toHaveLength(1);
      expect(lastRow()).toMatchObject({ inputTokens: null, cachedInputs: 1 });
    },
  );

  test("is counted for several inputs, some of them cached, and for tokens", async () => {
    fake.script(unreported);
    await embed("one of several");
    const several = ["one of several", "another text", "another text"];
    const { usage, header } = await embed(several);
    expect(usage.prompt_tokens).toBe(await countTokens(several));
    expect(header).toBe("estimated");
    fake.script(unreported);
    const tokens = await embed([[15339, 1917], [15339]]);
    expect(tokens).toEqual({ usage: { prompt_tokens: 3, total_tokens: 3 }, header: "estimated" });
  });

  test("is counted for batched requests and for the chunks of a split request", async () => {
    fake.script(unreported, { times: 20 });
    const texts = Array.from({ length: 12 }, (_, at) => `batched text ${at}`);
    const responses = await Promise.all(texts.map((text) => embed(text)));
    for (const [at, { usage, header }] of responses.entries()) {
      expect(usage.prompt_tokens).toBe(await countTokens([texts[at]!]));
      expect(header).toBe("estimated");
    }
    const many = Array.from({ length: 2050 }, (_, at) => `text ${at}`);
    const { usage } = await embed(many, { dimensions: 8 });
    expect(usage.prompt_tokens).toBeGreaterThanOrEqual(2050);
    expect(usage.total_tokens).toBe(usage.prompt_tokens);
  });

  test("is not recorded as reported usage by a gateway in front of this one", async () => {
    fake.script(unreported);
    const { usage, header } = await embed("through two gateways", {}, next);
    expect(usage.prompt_tokens).toBe(await countTokens(["through two gateways"]));
    expect(header).toBe("estimated");
    expect(lastRow(next)).toMatchObject({ inputTokens: null, upstreamTokens: null, cost: null });
    const reported = await embed("reported through two gateways", {}, next);
    expect(reported.header).toBeNull();
    expect(lastRow(next)).toMatchObject({ inputTokens: reported.usage.prompt_tokens });
  });
});

describe("counting tokens", () => {
  test("returns what OpenAI's tokenizer returns", async () => {
    const { countTokens: reference } = await import("gpt-tokenizer/encoding/cl100k_base");
    const samples = [
      "hello world",
      "Grüße aus München, 中文字符 и русский текст 😀😀 123456 I'll we'RE\n\n  x\t\ty   ",
      "a <|endoftext|> b",
      JSON.stringify({ a: [1, 2.5], b: "c" }, null, 2),
      readFileSync(import.meta.path, "utf8").slice(0, 16_000),
    ];
    for (const text of samples) {
      const exact = reference(text, { disallowedSpecial: new Set() });
      expect(await countTokens([text])).toBe(exact);
    }
    expect(await countTokens(["", "", ""])).toBe(3);
  });

  test("takes no longer for a text of megabytes than for its first 16 KB", async () => {
    const time = async (text: string) => {
      const before = process.cpuUsage();
      const tokens = await countTokens([text]);
      const { user, system } = process.cpuUsage(before);
      return { ms: (user + system) / 1000, tokens };
    };
    await time("load the table");
    for (const sign of ["a", "x9", " ", "\n", "中", "😀", "The fox jumped. "]) {
      const repeated = (length: number) => sign.repeat(length / sign.length);
      const short = await time(repeated(16 * 1024));
      const long = await time(repeated(16 * 1024 * 200));
      expect(long.tokens).toBeGreaterThan(150 * short.tokens);
      expect(long.ms).toBeLessThan(300 + 20 * short.ms);
    }
  });
});

const client = new OpenAI({ apiKey: testKey, baseURL: gateway.baseURL, maxRetries: 0 });
const eventsOf = async (at: typeof gateway, body: object) => {
  const response = await at.post("/v1/images/generations", { stream: true, ...body });
  return (await response.text())
    .split("\n\n")
    .filter((event) => event.startsWith("event:"))
    .map(
      (event) => JSON.parse(event.slice(event.indexOf("data: ") + 6)) as Record<string, unknown>,
    );
};

describe("the usage of images", () => {
  const prompt = "an otter in a hat";

  test("is in the completed event of a model that reports none, and not in the ledger", async () => {
    for (const at of [gateway, next]) {
      const events = await eventsOf(at, { model: "dall-e-3", prompt, quality: "hd" });
      const text = await countTokens([prompt]);
      const { usage, vexel_usage } = events.at(-1) as {
        usage: Record<string, number>;
        vexel_usage: string;
      };
      expect(vexel_usage).toBe("estimated");
      expect(usage).toEqual({
        total_tokens: expect.any(Number),
        input_tokens: text,
        output_tokens: expect.any(Number),
        input_tokens_details: { text_tokens: text, image_tokens: 0 },
      } as never);
      expect(usage.output_tokens).toBeGreaterThan(1000);
      expect(usage.total_tokens).toBe(text + usage.output_tokens!);
      expect(lastRow(at)).toMatchObject({ status: 200, images: 1, inputTokens: null });
      expect(lastRow(at)).toMatchObject({ outputTokens: null });
    }
  });

  test("is in the completed event of an edit, with the tokens of its images", async () => {
    fake.script(unreported);
    const image = await client.images.generate({ model: "gpt-image-2", prompt });
    const file = new File([Buffer.from(image.data![0]!.b64_json!, "base64")], "a.png", {
      type: "image/png",
    });
    fake.script(unreported);
    const stream = await client.images.edit({
      model: "gpt-image-2",
      prompt,
      image: file,
      stream: true,
    });
    for await (const event of stream) {
      if (event.type !== "image_edit.completed") continue;
      expect(event.usage.input_tokens_details.image_tokens).toBeGreaterThan(1000);
      expect(event.usage.input_tokens).toBe(
        event.usage.input_tokens_details.image_tokens +
          event.usage.input_tokens_details.text_tokens,
      );
    }
    expect(lastRow()).toMatchObject({ endpoint: "edits", inputTokens: null, cost: null });
  });

  test("is in whole responses of the GPT image family, with a header, through two gateways", async () => {
    for (const at of [gateway, next]) {
      fake.script(unreported);
      const response = await at.post("/v1/images/generations", {
        model: "gpt-image-2",
        prompt,
        n: 2,
      });
      expect(response.headers.get("vexel-usage")).toBe("estimated");
      const { usage } = (await response.json()) as OpenAI.ImagesResponse;
      const text = 2 * (await countTokens([prompt]));
      expect(usage).toMatchObject({
        input_tokens: text,
        input_tokens_details: { text_tokens: text },
      });
      expect(lastRow(at)).toMatchObject({ inputTokens: null, outputTokens: null, cost: null });
      const reported = await at.post("/v1/images/generations", { model: "gpt-image-2", prompt });
      expect(reported.headers.get("vexel-usage")).toBeNull();
      expect(lastRow(at)?.outputTokens).toBeGreaterThan(0);
    }
  });

  test("is not in whole responses of dall-e, for which OpenAI sends none", async () => {
    const response = await gateway.post("/v1/images/generations", { model: "dall-e-3", prompt });
    expect(await response.json()).not.toHaveProperty("usage");
    expect(response.headers.get("vexel-usage")).toBeNull();
  });
});
