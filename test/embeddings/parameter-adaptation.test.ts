/** A parameter that an upstream does not support is emulated where the result is the same, and refused otherwise. */
import { beforeEach, describe, expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import { fakeVector, startFake } from "../fake-upstream.ts";
import { startGateway, testKey } from "../harness.ts";
import { embeddingResponse } from "./upstream-response.ts";

const [fake, second] = [startFake(), startFake()];
const to = (upstream: string, model: string): string =>
  `{ upstream: ${upstream}, model: ${model} }`;
const model = (id: string, ...targets: string[]): string =>
  `  - { id: ${id}, kind: embedding, targets: [${targets.join(", ")}] }`;
/** The same, with a setting for token arrays. */
const modelWithTokenArrays = (tokenArrays: string, id: string, ...targets: string[]): string =>
  model(id, ...targets).replace("kind:", `tokenArrays: ${tokenArrays}, kind:`);
const gateway = startGateway({
  settings: { VEXEL_CACHE_BYTES: "10000000" },
  // Of these kinds, `openai` and `vllm` support `dimensions` and tokens, `together` supports neither.
  yaml: `
upstreams:
  - { id: able, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }
  - { id: server, kind: vllm, baseUrl: "${fake.url}", apiKey: sk-fake }
  - { id: modest, kind: together, baseUrl: "${fake.url}", apiKey: sk-fake }
  - { id: other, kind: openai, baseUrl: "${second.url}", apiKey: sk-fake }
  - { id: own, kind: ollama, baseUrl: "${fake.url}" }
  - { id: zhipu, kind: zhipu, baseUrl: "${fake.url}", apiKey: sk-fake }
models:
${[
  model("native", to("able", "text-embedding-3-small")),
  model("served", to("server", "text-embedding-3-small")),
  model("cut", to("modest", "text-embedding-3-small")),
  model("uncut", to("modest", "text-embedding-ada-002")),
  model("unknown", to("modest", "custom-embedding-1")),
  model("unknown-served", to("server", "custom-embedding-1")),
  model("pulled", to("own", "nomic-embed-text")),
  model("pulled-minilm", to("own", "all-minilm")),
  model("lengths", to("zhipu", "embedding-3")),
  model("bge-served", to("server", "BAAI/bge-m3")),
  modelWithTokenArrays("refuse", "texts-only", to("modest", "custom-embedding-1")),
  modelWithTokenArrays("refuse", "native-texts-only", to("able", "text-embedding-3-small")),
  modelWithTokenArrays("pass", "own-tokens", to("server", "custom-embedding-1")),
  modelWithTokenArrays(
    "pass",
    "either",
    to("modest", "custom-embedding-1"),
    to("other", "custom-embedding-1"),
  ),
].join("\n")}
keys:
  - { name: test, key: ${testKey} }
`,
});
beforeEach(() => {
  fake.clear();
  second.clear();
});
closeAfterAll(gateway, fake, second);

interface EmbeddingsBody {
  readonly data: readonly { readonly embedding: number[] | string }[];
}

/** Each test has its own texts: cached texts would not be sent upstream again. */
let count = 0;
const newText = (): string => `text ${count++}`;

const embed = (id: string, input: unknown, more: object = {}): Promise<Response> =>
  gateway.post("/v1/embeddings", { model: id, input, ...more });

async function vectorsOf(response: Response): Promise<Float32Array[]> {
  const text = await response.text();
  expect(response.status, text.slice(0, 300)).toBe(200);
  return (JSON.parse(text) as EmbeddingsBody).data.map(({ embedding }) =>
    typeof embedding === "string"
      ? new Float32Array(new Uint8Array(Buffer.from(embedding, "base64")).buffer)
      : Float32Array.from(embedding),
  );
}

const parameterHeaders = (response: Response): [string | null, string | null] => [
  response.headers.get("vexel-adapted"),
  response.headers.get("vexel-dropped"),
];
const lastRequest = (of = fake): Record<string, unknown> =>
  (of.requests.at(-1)?.json ?? {}) as Record<string, unknown>;

interface Refusal {
  readonly message: string;
  readonly param: string | null;
}

async function refusalOf(response: Response): Promise<Refusal> {
  const { error } = (await response.json()) as { error: Refusal };
  expect(response.status, error.message).toBe(400);
  return error;
}

/** Equal within float32 precision. */
function expectClose(got: Float32Array, expected: Float32Array): void {
  expect(got.length).toBe(expected.length);
  for (const [at, number] of got.entries()) expect(number).toBeCloseTo(expected[at]!, 6);
}

/** A response with a vector of this length, whatever was requested. */
const responseWithLength = (text: string, length = 1536) =>
  embeddingResponse(fakeVector(text, length));

describe("`dimensions`", () => {
  test("is sent to an upstream that supports it, without a header in the response", async () => {
    const text = newText();
    for (let round = 0; round < 2; round++) {
      const response = await embed("native", text, { dimensions: 256 });
      expect(parameterHeaders(response)).toEqual([null, null]);
      expect((await vectorsOf(response))[0]).toEqual(fakeVector(text, 256));
    }
    expect(lastRequest().dimensions).toBe(256);
    expect(fake.requests).toHaveLength(1);
  });

  test.each(["float", "base64"])(
    "is emulated by truncation if the model supports it (Matryoshka): %s",
    async (encoding_format) => {
      const texts = [newText(), newText()];
      // New, then cached: the headers are the same.
      for (let round = 0; round < 2; round++) {
        const response = await embed("cut", texts, { dimensions: 100, encoding_format });
        expect(parameterHeaders(response)).toEqual(["dimensions", null]);
        for (const [at, vector] of (await vectorsOf(response)).entries()) {
          const long = fakeVector(texts[at]!, 1536);
          expect(Math.hypot(...vector)).toBeCloseTo(1, 6);
          expectClose(vector, fakeVector(texts[at]!, 100));
          expect(vector[7]! / vector[3]!).toBeCloseTo(long[7]! / long[3]!, 3);
        }
      }
      expect(fake.requests).toHaveLength(1);
      expect(lastRequest()).not.toHaveProperty("dimensions");
    },
  );

  test("of another value does not return the cached vector of the same text", async () => {
    const text = newText();
    for (const dimensions of [64, 1536, undefined, 64]) {
      const [vector] = await vectorsOf(await embed("cut", text, { dimensions }));
      expectClose(vector!, fakeVector(text, dimensions ?? 1536));
    }
  });

  test("that is the model's own length is not reported as adapted", async () => {
    for (const id of ["cut", "uncut"]) {
      const text = newText();
      const response = await embed(id, text, { dimensions: 1536 });
      expect(parameterHeaders(response)).toEqual([null, null]);
      expect((await vectorsOf(response))[0]).toEqual(fakeVector(text, 1536));
      expect(lastRequest()).not.toHaveProperty("dimensions");
    }
  });

  test.each([
    [
      "uncut",
      256,
      /does not support specifying dimensions: its vectors always have 1536 dimensions\./,
    ],
    ["cut", 1537, /`cut` does not support 1537 dimensions. Supported: 1 to 1536\b/],
    ["lengths", 300, /does not support 300 dimensions. Supported: 256, 512, 1024, 2048\b/],
    ["unknown", 256, /does not support specifying dimensions. Omit `dimensions`/],
  ])(
    "that truncation cannot produce is refused without an upstream request: %s, %i",
    async (id, dimensions, expectedMessage) => {
      const { message, param } = await refusalOf(await embed(id, newText(), { dimensions }));
      expect(param).toBe("dimensions");
      expect(message).toMatch(expectedMessage);
      expect(fake.requests).toHaveLength(0);
    },
  );

  test("that a server ignores is emulated by truncation, with a header every time", async () => {
    const text = newText();
    fake.script(responseWithLength(text));
    for (let round = 0; round < 2; round++) {
      const response = await embed("served", text, { dimensions: 32 });
      expect(parameterHeaders(response)).toEqual(["dimensions", null]);
      expectClose((await vectorsOf(response))[0]!, fakeVector(text, 32));
    }
    expect(fake.requests).toHaveLength(1);
  });

  test("that a server ignores is refused if it is unknown whether vectors may be truncated", async () => {
    const text = newText();
    fake.script(responseWithLength(text));
    const { param, message } = await refusalOf(
      await embed("unknown-served", text, { dimensions: 32 }),
    );
    expect(param).toBe("dimensions");
    expect(message).toMatch(/`unknown-served` does not support specifying dimensions/);
  });

  test.each([
    ["native", 4096],
    ["unknown-served", 4096],
  ])(
    "above the model's own number is refused with that number, if the server reports it (%s)",
    async (id, dimensions) => {
      const text = newText();
      fake.script(responseWithLength(text));
      const { param, message } = await refusalOf(await embed(id, text, { dimensions }));
      expect(param).toBe("dimensions");
      expect(message).toMatch(
        new RegExp(`\`${id}\` does not support 4096 dimensions: its vectors have 1536\\b`),
      );
    },
  );

  test("above the model's own length is not sent to Ollama, which would ignore it", async () => {
    const { message } = await refusalOf(await embed("pulled", newText(), { dimensions: 1024 }));
    expect(message).toMatch(
      /`pulled` does not support 1024 dimensions. Supported: 64, 128, 256, 512, 768\./,
    );
    const minilm = await refusalOf(await embed("pulled-minilm", newText(), { dimensions: 256 }));
    expect(minilm.message).toMatch(
      /does not support specifying dimensions: its vectors always have 384 dimensions/,
    );
    expect(fake.requests).toHaveLength(0);
  });

  test("is never emulated by truncating the vector of a larger model", async () => {
    for (const dimensions of [32, 1536]) {
      for (const id of ["served", "cut"]) {
        const text = newText();
        fake.script(responseWithLength(text, 3072));
        const response = await embed(id, text, { dimensions });
        expect(await response.json()).toMatchObject({ error: { code: "upstream_invalid" } });
      }
    }
  });

  test("is sent to the target that supports it, although another is first", async () => {
    const text = newText();
    const response = await embed("either", text, { dimensions: 64 });
    expect((await vectorsOf(response))[0]).toEqual(fakeVector(text, 64));
    expect([fake.requests.length, second.requests.length]).toEqual([0, 1]);
    expect(parameterHeaders(response)).toEqual([null, null]);
  });
});

describe("tokens", () => {
  // "hello world" and "日本語" in the vocabulary of OpenAI's models.
  const hello = [15339, 1917];
  const nihongo = [9080, 22656, 45918, 252];

  test("are sent unchanged to an upstream that accepts tokens", async () => {
    const response = await embed("native", hello);
    expect((await vectorsOf(response))[0]).toEqual(fakeVector(hello, 1536));
    expect(parameterHeaders(response)).toEqual([null, null]);
    expect(lastRequest().input).toEqual(hello);
  });

  test("are decoded to text for an upstream that accepts only texts", async () => {
    for (let round = 0; round < 2; round++) {
      const response = await embed("cut", [hello, nihongo]);
      expect(parameterHeaders(response)).toEqual(["input", null]);
      expect(await vectorsOf(response)).toEqual([
        fakeVector("hello world", 1536),
        fakeVector("日本語", 1536),
      ]);
    }
    expect(fake.requests).toHaveLength(1);
    expect(lastRequest().input).toEqual(["hello world", "日本語"]);
    // A single input stays a single input.
    const single = [...hello, ...hello];
    const response = await embed("cut", single, { dimensions: 8 });
    expect(parameterHeaders(response)).toEqual(["dimensions, input", null]);
    expect(lastRequest().input).toBe("hello worldhello world");
  });

  test("for a model that is not in the catalog are decoded with OpenAI's tokenizer", async () => {
    for (const id of ["unknown", "unknown-served"]) {
      const response = await embed(id, [hello, nihongo]);
      expect(parameterHeaders(response)).toEqual(["input", null]);
      expect(await vectorsOf(response)).toHaveLength(2);
      expect(lastRequest().input).toEqual(["hello world", "日本語"]);
    }
  });

  test("are never sent to a catalog model with another vocabulary", async () => {
    // The fake upstream does not serve this model: only the request counts.
    await (await embed("bge-served", [hello, nihongo])).text();
    expect(lastRequest().input).toEqual(["hello world", "日本語"]);
  });

  test("that were decoded share the cached vector of the same text", async () => {
    const texts = ["hello world", "日本語"];
    const fromText = await vectorsOf(await embed("unknown-served", texts, { user: newText() }));
    fake.clear();
    for (const input of [[hello, nihongo], hello]) {
      const response = await embed("unknown-served", input);
      expect(parameterHeaders(response)).toEqual(["input", null]);
      expect((await vectorsOf(response))[0]).toEqual(fromText[0]!);
    }
    expect(fake.requests).toHaveLength(0);
  });

  test.each(["texts-only", "native-texts-only"])(
    "are refused if the configuration says so (%s)",
    async (id) => {
      for (const input of [hello, [hello, hello]]) {
        const { message } = await refusalOf(await embed(id, input));
        expect(message).toMatch(/takes texts, not tokens/);
      }
      expect(fake.requests).toHaveLength(0);
      expect((await embed(id, newText())).status).toBe(200);
    },
  );

  test("of the model's own vocabulary are sent unchanged if the configuration says so", async () => {
    const own = [250_000, 3];
    const response = await embed("own-tokens", own);
    expect((await vectorsOf(response))[0]).toEqual(fakeVector(own, 1536));
    expect(parameterHeaders(response)).toEqual([null, null]);
    expect(lastRequest().input).toEqual(own);
  });

  test("that are only half a character are sent as the replacement character", async () => {
    expect((await embed("unknown", [[15339], [9468, 239]])).status).toBe(200);
    expect(lastRequest().input).toEqual(["hello", "\uFFFD"]);
  });

  test.each<[string, unknown, string]>([
    ["stand for nothing", [[15339], [100_400]], "100400, which is not a token"],
    ["have a meaning instead of a text", [[15339], [100_257]], "100257, the special token"],
    ["are cut inside of a character", [[15339], [...nihongo.slice(0, 3), 1917]], "tokens"],
  ])("that %s are refused, and the entry is named", async (_, input, named) => {
    for (const id of ["cut", "unknown"]) {
      const { message } = await refusalOf(await embed(id, input));
      expect(message).toContain(`'$.input' is invalid. Entry 1 holds ${named}`);
    }
    expect(fake.requests).toHaveLength(0);
  });

  test("that a client cut within a character lose only that character", async () => {
    await vectorsOf(
      await embed("cut", [nihongo.slice(0, 3), [...nihongo.slice(3), 276, 14479, 466]]),
    );
    expect(lastRequest().input).toEqual(["日本", "an otter"]);
  });

  test("are sent to the target that accepts them, although another is first", async () => {
    const response = await embed("either", hello);
    expect((await vectorsOf(response))[0]).toEqual(fakeVector(hello, 1536));
    expect([fake.requests.length, second.requests.length]).toEqual([0, 1]);
  });
});
