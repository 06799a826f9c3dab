/** JSON of upstreams with vectors: refused early where it is larger than vectors need, and parsed in turns if large. */
import { afterAll, describe, expect, spyOn, test } from "bun:test";
import { createServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { createRequestTemp } from "../../server/temp-storage/request-temp.ts";
import { readEmbeddingsResponse } from "../../server/upstream/adapters/openai/embeddings.ts";
import { readDocument } from "../../server/upstream/adapters/wire/document.ts";
import { parseVectorsJson } from "../../server/upstream/parse-vectors-json.ts";
import { tries } from "../depth.ts";
import { configFor, startGateway, temporaryFolder, testKey } from "../harness.ts";
import { upstreamResponseOf } from "../laws/adapter-cases.ts";
import { embeddingsQuery } from "../laws/adapter-responses.ts";
import { turnsDuring } from "./turns-during.ts";

const MiB = 1024 * 1024;
const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

const parse = async (text: string, max?: number): Promise<unknown> =>
  (await parseVectorsJson(Buffer.from(text), max)).value;

const refusal = (text: string, max?: number): Promise<unknown> =>
  parse(text, max).catch((error) => error);

/** Shorter lists stay lists. */
const minListBytes = 256;

/** What is expected: float32 numbers in place of each long list of numbers. */
function withFloats(json: unknown): unknown {
  if (typeof json !== "object" || json === null) return json;
  if (!Array.isArray(json))
    return Object.fromEntries(
      Object.entries(json).map(([name, value]) => [name, withFloats(value)]),
    );
  const areNumbers = json.every((entry) => typeof entry === "number");
  return areNumbers && JSON.stringify(json).length > minListBytes
    ? Float32Array.from(json)
    : json.map(withFloats);
}

describe("JSON with vectors", () => {
  test("is parsed as by JSON.parse, also as a list", async () => {
    const documents = fc.oneof(
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 }),
      fc.array(fc.jsonValue({ maxDepth: 3 }), { maxLength: 4 }),
    );
    await fc.assert(
      fc.asyncProperty(documents, fc.constantFrom(undefined, 2), async (value, indent) => {
        const text = ` ${JSON.stringify(value, null, indent)}\n`;
        expect(await parse(text)).toEqual(JSON.parse(text));
      }),
      tries(500),
    );
  });

  test("with lists of many numbers is parsed as by JSON.parse, as float32, wherever the lists are", async () => {
    const numbersOf = (...kinds: fc.Arbitrary<number | null>[]) =>
      fc.array(fc.oneof(...kinds), { minLength: 120, maxLength: 160 });
    const numbers = fc.oneof(
      numbersOf(fc.double({ noDefaultInfinity: true, noNaN: true }), fc.integer({ min: -1e9 })),
      // A list with another value in it stays as it is.
      numbersOf(fc.double({ noDefaultInfinity: true, noNaN: true }), fc.constant(null)),
    );
    const texts = fc.constantFrom("a", '"[1,2', "\\", "[", "]", "\u00fc");
    const documents = fc.oneof(
      fc.record({ data: fc.array(fc.record({ embedding: numbers, index: fc.nat() })), a: texts }),
      fc.array(numbers),
      fc.record({ outputs: fc.tuple(fc.record({ name: texts, data: numbers })) }),
      fc.array(fc.oneof(numbers, texts, fc.array(fc.oneof(numbers, texts)))),
      fc.record({ ["__proto__"]: numbers, a: numbers }),
    );
    await fc.assert(
      fc.asyncProperty(documents, async (value) => {
        const text = JSON.stringify(value);
        expect(await parse(text)).toEqual(withFloats(JSON.parse(text)));
      }),
      tries(400),
    );
    const flat = Array.from({ length: 300_000 }, (_, at) => at / 7);
    const text = JSON.stringify({ outputs: [{ data: flat }] });
    expect(await parse(text)).toEqual({ outputs: [{ data: Float32Array.from(flat) }] });
  });

  test("with an invalid list of many numbers is refused, as by JSON.parse", async () => {
    const numbers = "0.5,".repeat(100_000);
    const lists = [`[${numbers}]`, `[,${numbers}1]`, `[${numbers},1]`, `[${numbers}1:2]`];
    for (const list of [...lists, `[${numbers}x]`, `[${numbers}1 2]`, `[${numbers}1}`]) {
      const text = `{"data":[${list}]}`;
      expect(() => JSON.parse(text)).toThrow(SyntaxError);
      expect(await refusal(text), list.slice(-8)).toMatchObject({ kind: "upstream_invalid" });
    }
  });

  test("that is not valid, too deep, or has too much besides its vectors, is refused", async () => {
    for (const text of ["{", "[1,]", "[1]]", '{"a":1}}', "{}x", "[1] 2", '{"a":[1,2}'])
      expect(await refusal(text), text).toBeInstanceOf(GatewayError);
    expect(await refusal(`{"a":${"[".repeat(65)}${"]".repeat(65)}}`)).toBeInstanceOf(GatewayError);
    const spaces = " ".repeat(3 * MiB);
    for (const text of [`${spaces}{}`, `{}${spaces}`, `{"a":"${spaces}"}`, `{"a":[1,"${spaces}"]}`])
      expect(await refusal(text, 2 * MiB)).toBeInstanceOf(GatewayError);
  });

  test("with very many lists that begin like vectors is read in turns", async () => {
    const list = `[${"0.5,".repeat(64)}null]`;
    const text = `[${Array(6000).fill(list).join(",")}]`;
    const { turns, result } = await turnsDuring(() => parse(text));
    expect(result).toEqual(JSON.parse(text));
    expect(turns).toBeGreaterThan(3);
  });
});

const query = embeddingsQuery(200);

test("while a large response with vectors as numbers is parsed, other requests are served", async () => {
  const text = JSON.stringify({
    object: "list",
    data: Array.from({ length: 200 }, (_, index) => ({
      index,
      embedding: Array.from({ length: 1536 }, (_, at) => Math.sin(index + at)),
    })),
  });
  expect(text.length).toBeGreaterThan(5 * MiB);
  const { turns, result } = await turnsDuring(() =>
    readEmbeddingsResponse(upstreamResponseOf(text), query),
  );
  expect(result.vectors).toHaveLength(200);
  expect(result.vectors[7]).toEqual(Float32Array.from(JSON.parse(text).data[7].embedding));
  expect(turns).toBeGreaterThan(20);
});

describe.each(["before", "after"])(
  "a long list of numbers in an unknown field %s the vectors",
  (where) => {
    const list = `"unknown":[${"0,".repeat(4 * MiB)}0]`;
    const bytes = Buffer.from(new Float32Array([0.5, 2]).buffer).toString("base64");
    test.each([
      ["numbers", "[0.5,2]"],
      ["base64", `"${bytes}"`],
    ])(
      "takes no more than twice its bytes, and the vectors as %s are delivered",
      async (_, vector) => {
        const data = `"data":[{"index":0,"embedding":${vector}}]`;
        const text = `{${where === "before" ? `${list},${data}` : `${data},${list}`}}`;
        const { unknown } = (await parse(text)) as { unknown: Float32Array };
        expect(unknown.length).toBe(4 * MiB + 1);
        expect(unknown.byteLength).toBeLessThan(2.1 * text.length);
        const allocate = spyOn(Buffer, "allocUnsafeSlow");
        try {
          const { vectors } = await readEmbeddingsResponse(
            upstreamResponseOf(text),
            embeddingsQuery(1),
          );
          expect(vectors).toEqual([JSON.parse(vector)]);
          expect(Math.max(...allocate.mock.calls.map(([size]) => size))).toBeLessThan(2 * MiB);
        } finally {
          allocate.mockRestore();
        }
      },
    );
  },
);

describe("an embeddings response that is larger than its vectors need is refused before all of it arrives:", () => {
  const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
  /** Sends a response of any length, until the connection ends. */
  const endless = (socket: Socket): void => {
    const send = (): void => {
      if (!socket.destroyed) socket.write(`10000\r\n${" ".repeat(65_536)}\r\n`, send);
    };
    socket.write(`${head}transfer-encoding: chunked\r\n\r\n`, send);
  };
  const zipped = gzipSync(Buffer.alloc(64 * MiB, " "));
  test.each<[string, (socket: Socket) => void]>([
    ["announced", (socket) => socket.write(`${head}content-length: 200000000\r\n\r\n{`)],
    ["in chunks", endless],
    [
      "compressed",
      (socket) => {
        const coding = `content-encoding: gzip\r\ncontent-length: ${zipped.length}\r\n\r\n`;
        socket.write(Buffer.concat([Buffer.from(head + coding), zipped]));
      },
    ],
  ])("%s", async (_, respond) => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => respond(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const gateway = startGateway({ yaml: configFor(`http://127.0.0.1:${port}`) });
    try {
      const response = await gateway.post("/v1/embeddings", {
        model: "text-embedding-3-small",
        input: "a",
      });
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      expect(error.code).toBe("upstream_invalid");
      expect(error.message).toContain(`larger than ${1.5 * MiB} bytes`);
    } finally {
      await gateway.close();
      server.close();
    }
  });
});

/** Responds with one long vector for each input, and counts the inputs of each request. */
function startLongVectors(length: number) {
  const embedding = Buffer.from(new Float32Array(length).fill(0.5).buffer).toString("base64");
  const inputCounts: number[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { input } = (await request.json()) as { input: string | string[] };
      const texts = typeof input === "string" ? [input] : input;
      inputCounts.push(texts.length);
      await Bun.sleep(20);
      return Response.json({ data: texts.map((_, index) => ({ index, embedding })) });
    },
  });
  return { server, inputCounts };
}

test.each([
  ["16 requests, which are micro-batched,", Array.from({ length: 16 }, (_, at) => [`text ${at}`])],
  ["16 inputs", [Array.from({ length: 16 }, (_, at) => `text ${at}`)]],
])("a vector that is delivered alone is delivered for each of %s too", async (_, requests) => {
  const { server, inputCounts } = startLongVectors(190_000);
  const gateway = startGateway({
    yaml: `
upstreams:
  - { id: own, kind: openai-compatible, baseUrl: "http://127.0.0.1:${server.port}/v1" }
models:
  - { id: vectors, kind: embedding, targets: [{ upstream: own, model: own }] }
keys:
  - { name: test, key: ${testKey} }
`,
  });
  try {
    const embed = async (input: readonly string[]) => {
      const body = { model: "vectors", input, encoding_format: "base64" };
      const response = await gateway.post("/v1/embeddings", body);
      const { data } = (await response.json()) as { data?: { embedding: string }[] };
      return [response.status, ...(data ?? []).map(({ embedding }) => embedding.length)];
    };
    const characters = 4 * Math.ceil((190_000 * 4) / 3);
    expect(await embed(["alone"])).toEqual([200, characters]);
    const results = await Promise.all(requests.map(embed));
    expect(results).toEqual(
      requests.map((input) => [200, ...new Array(input.length).fill(characters)]),
    );
    expect(Math.max(...inputCounts)).toBeGreaterThan(8);
  } finally {
    await gateway.close();
    await server.stop(true);
  }
});

describe("beside an image,", () => {
  const read = async (text: string, cuts: readonly number[] = []): Promise<unknown> => {
    const temp = createRequestTemp(folder.path);
    try {
      return await readDocument(upstreamResponseOf(text, { cuts }), temp);
    } finally {
      await temp.clear();
    }
  };

  test("long runs of spaces are left out, and the image is delivered", async () => {
    const spaces = " \n\t".repeat(4 * MiB);
    const text = `{"data":[{"b64_json":"AAAA"}],${spaces}"x":1}`;
    const cuts = Array.from({ length: 50 }, (_, at) => at * 250_000);
    expect(await read(text, cuts)).toEqual({ data: [{ b64_json: "AAAA" }], x: 1 });
  });

  test("texts with escapes are read as by JSON.parse, wherever the chunks are split", async () => {
    const escapes = fc.constantFrom("\\n", "\\\\", '\\"', "\\u0041", "\\ud83d\\ude00", "a", "\\/");
    const texts = fc.array(escapes, { maxLength: 40 }).map((parts) => parts.join(""));
    await fc.assert(
      fc.asyncProperty(
        fc.array(texts, { minLength: 1, maxLength: 4 }),
        fc.array(fc.nat(200), { maxLength: 8 }),
        async (list, cuts) => {
          const text = `{"a":[${list.map((entry) => `"${entry}"`).join(",")}]}`;
          expect(await read(text, cuts)).toEqual(JSON.parse(text));
        },
      ),
      tries(300),
    );
  });

  test("texts with very many escapes take no more memory than their bytes, up to a bound", async () => {
    const text = JSON.stringify({ a: Array.from({ length: 64 }, () => "\n".repeat(45_000)) });
    await expect(read(text)).rejects.toThrow("besides its long texts");
    const fewer = JSON.stringify({ a: Array.from({ length: 20 }, () => "\n".repeat(45_000)) });
    expect(await read(fewer)).toEqual(JSON.parse(fewer));
  });
});
