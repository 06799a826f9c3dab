/** Quantized vectors: made by the vendor or computed from float32, whatever else happens to the request. */
import { beforeEach, describe, expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import { startGateway, testKey } from "../harness.ts";
import { quantize } from "../laws/output-types.ts";
import { dataUrl, imageEntry, png } from "./multimodal-fixture.ts";

type Fields = Readonly<Record<string, unknown>>;

const dimensions = 64;
const types = ["int8", "uint8", "binary", "ubinary"] as const;
type Type = (typeof types)[number];

/** The float32 vector of a text: numbers of both signs, from -1 to 1, with few digits. */
function floatsFor(text: string, length = dimensions): Float32Array {
  let state = Bun.hash.crc32(text) || 1;
  return Float32Array.from({ length }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 24) / 128 - 1;
  });
}

/** The bodies of upstream requests. */
let received: Fields[] = [];
/** While it is set, upstream requests wait for it. */
let hold: Promise<unknown> | undefined;
/** The upstream that fails, by the first part of its URL. */
let failing = "";
beforeEach(() => {
  received = [];
  hold = undefined;
  failing = "";
});

const vendor = Bun.serve({
  port: 0,
  fetch: async (request) => {
    const body = (await request.json()) as Fields;
    received.push(body);
    await hold;
    const { pathname } = new URL(request.url);
    if (failing !== "" && pathname.startsWith(failing)) return new Response("", { status: 500 });
    const { input, texts: inTexts, inputs = [] } = body;
    const entries = [input ?? inTexts ?? inputs].flat();
    const texts = entries.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
    const length = Number(body.dimensions ?? body.output_dimension ?? dimensions);
    const type = body.output_dtype ?? [body.embedding_types].flat()[0];
    const rows = texts.map((text) => floatsFor(text, pathname.startsWith("/odd") ? 20 : length));
    if (pathname.endsWith("/v2/embed")) return Response.json(cohereResponse(rows, String(type)));
    const data = rows.map((row, index) => ({
      object: "embedding",
      index,
      embedding: types.includes(type as Type) ? [...quantize(row, type as Type)] : [...row],
    }));
    return Response.json({ object: "list", data, model: body.model, usage: { total_tokens: 3 } });
  },
});

function cohereResponse(rows: readonly Float32Array[], type: string) {
  const vectors = rows.map((row) =>
    types.includes(type as Type)
      ? [...quantize(row, type as Type)]
      : Buffer.from(row.buffer).toString("base64"),
  );
  return { embeddings: { [type]: vectors }, meta: { billed_units: { input_tokens: 3 } } };
}

const url = `http://127.0.0.1:${vendor.port}`;
const gateway = startGateway({
  settings: { VEXEL_CACHE_BYTES: "1000000" },
  yaml: JSON.stringify({
    upstreams: [
      { id: "plain", kind: "openai-compatible", baseUrl: `${url}/plain` },
      { id: "odd", kind: "openai-compatible", baseUrl: `${url}/odd` },
      { id: "voyage", kind: "voyage", baseUrl: `${url}/voyage`, apiKey: "k" },
      { id: "cohere", kind: "cohere", baseUrl: `${url}/cohere`, apiKey: "k" },
    ],
    models: [
      ["plain", "plain/in-house"],
      ["odd", "odd/in-house"],
      ["voyage", "voyage/voyage-3.5"],
      ["cohere", "cohere/embed-v4.0"],
      ["either", "voyage/voyage-3.5", "plain/in-house"],
    ].map(([id, ...targets]) => ({
      id,
      kind: "embedding",
      dimensions: id === "odd" ? 20 : dimensions,
      ...(id === "either" && { sameSpace: true }),
      targets: targets.map((target) => {
        const [upstream, model] = target.split("/");
        return { upstream, model };
      }),
    })),
    keys: [{ name: "test", key: testKey }],
  }),
});
/** A gateway whose upstream is the other gateway. */
const outer = startGateway({
  settings: {},
  yaml: JSON.stringify({
    upstreams: [{ id: "inner", kind: "vexel", baseUrl: `${gateway.url}/v1`, apiKey: testKey }],
    models: ["plain", "voyage"].map((model) => ({
      id: model,
      kind: "embedding",
      targets: [{ upstream: "inner", model }],
    })),
    keys: [{ name: "test", key: testKey }],
  }),
});
closeAfterAll(outer, gateway, vendor);

interface Embedded {
  readonly status: number;
  readonly adapted: string | null;
  readonly embeddings: readonly unknown[];
  readonly error?: Fields;
}

async function embed(body: Fields, path = "/v1/embeddings", through = gateway): Promise<Embedded> {
  const response = await through.post(path, body);
  const { data = [], error } = (await response.json()) as {
    data?: { embedding: unknown }[];
    error?: Fields;
  };
  return {
    status: response.status,
    adapted: response.headers.get("vexel-adapted"),
    embeddings: data.map(({ embedding }) => embedding),
    ...(error && { error }),
  };
}

const expected = (text: string, type: Type, length?: number): number[] => [
  ...quantize(floatsFor(text, length), type),
];

describe("binary and ubinary of a model that makes float32", () => {
  test.each(["binary", "ubinary"] as const)(
    "%s is computed, and reported as adapted",
    async (type) => {
      const input = `a boat, ${type}`;
      const result = await embed({ model: "plain", input, output_dtype: type });
      expect(result).toEqual({
        status: 200,
        adapted: "output_dtype",
        embeddings: [expected(input, type)],
      });
      expect(Object.keys(received[0] ?? {})).not.toContain("output_dtype");
    },
  );

  test("are integers where base64 is requested, as OpenAI's SDKs do by themselves", async () => {
    const { embeddings } = await embed({
      model: "plain",
      input: "a bridge",
      output_dtype: "ubinary",
      encoding_format: "base64",
    });
    expect(embeddings).toEqual([expected("a bridge", "ubinary")]);
  });

  test("share one cached float32 vector, in every encoding", async () => {
    const input = ["one", "two", "three"];
    for (const fields of [
      { output_dtype: "binary" },
      { output_dtype: "ubinary" },
      { output_dtype: "float" },
      {},
      { encoding_format: "base64" },
    ])
      expect((await embed({ model: "plain", input, ...fields })).status).toBe(200);
    expect(received).toHaveLength(1);
    const { embeddings } = await embed({ model: "plain", input: "two", output_dtype: "binary" });
    expect(embeddings).toEqual([expected("two", "binary")]);
    expect(received).toHaveLength(1);
  });

  test("have the client's dimensions", async () => {
    const { embeddings } = await embed({
      model: "plain",
      input: "a bell",
      dimensions: 24,
      output_dtype: "ubinary",
    });
    expect(embeddings).toEqual([expected("a bell", "ubinary", 24)]);
  });

  test.each([
    ["plain", { dimensions: 20 }],
    ["odd", {}],
  ])(
    "are refused for dimensions that are not whole bytes, before anything is sent",
    async (model, fields) => {
      const result = await embed({ model, input: "a ball", output_dtype: "binary", ...fields });
      expect([result.status, result.error?.param]).toEqual([400, "output_dtype"]);
      expect(result.error?.message).toContain("20 dimensions are not a multiple of 8");
      expect(received).toEqual([]);
    },
  );
});

describe("int8 and uint8", () => {
  test.each(["int8", "uint8"])(
    "%s is refused by name where no vendor makes it, and nothing is sent",
    async (type) => {
      const { status, error } = await embed({ model: "plain", input: "a", output_dtype: type });
      expect([status, error?.code, error?.param]).toEqual([400, "invalid_value", "output_dtype"]);
      expect(error?.message).toContain(`does not make ${type} vectors`);
      expect(error?.message).toContain("'float', 'binary', and 'ubinary'");
      expect(received).toEqual([]);
    },
  );
});

test.each<[unknown]>([["float16"], ["INT8"], [["int8", "float"]], [7]])(
  "an unknown output type (%p) is refused with the types that exist",
  async (type) => {
    const { status, error } = await embed({ model: "plain", input: "a", output_dtype: type });
    expect([status, error?.code, error?.param]).toEqual([400, "invalid_value", "output_dtype"]);
    expect(error?.message).toContain("'float', 'int8', 'uint8', 'binary', and 'ubinary'");
    expect(received).toEqual([]);
  },
);

describe("types that the vendor makes", () => {
  test.each(types)("%s is requested in the vendor's field, and not adapted", async (type) => {
    for (const model of ["voyage", "cohere"]) {
      const input = `a ${type} of ${model}`;
      const result = await embed({ model, input, output_dtype: type });
      expect(result).toEqual({ status: 200, adapted: null, embeddings: [expected(input, type)] });
    }
    const made = type === "binary" ? "ubinary" : type;
    expect(received).toMatchObject([{ output_dtype: made }, { embedding_types: [made] }]);
  });

  test("each type is cached on its own, and binary with ubinary", async () => {
    const input = "a kettle";
    for (let round = 0; round < 2; round++) {
      for (const type of types) {
        const { embeddings } = await embed({ model: "voyage", input, output_dtype: type });
        expect(embeddings).toEqual([expected(input, type)]);
      }
      expect((await embed({ model: "voyage", input })).embeddings).toEqual([[...floatsFor(input)]]);
    }
    expect(received.map(({ output_dtype }) => output_dtype)).toEqual([
      "int8",
      "uint8",
      "ubinary",
      undefined,
    ]);
  });

  test("a request that is split has each vector at its place, also from the cache", async () => {
    const input = Array.from({ length: 200 }, (_, at) => `entry ${at}`);
    for (const texts of [input, input.toReversed()]) {
      const { embeddings } = await embed({ model: "cohere", input: texts, output_dtype: "int8" });
      expect(embeddings).toEqual(texts.map((text) => expected(text, "int8")));
    }
    expect(received.map(({ texts }) => (texts as unknown[]).length)).toEqual([67, 67, 66]);
  });

  test("texts and images of one request have the type, each at its place", async () => {
    const [red, blue] = [imageEntry(dataUrl(png(10))), imageEntry(dataUrl(png(200)))];
    for (const type of types) {
      const { embeddings, adapted } = await embed({
        model: "cohere",
        input: [red, "a text", blue],
        output_dtype: type,
      });
      const sent = [JSON.stringify(red), "a text", JSON.stringify(blue)];
      expect(embeddings).toEqual(sent.map((text) => expected(text, type)));
      expect(adapted).toBeNull();
    }
  });

  test("a response above a megabyte, which is parsed in steps, is as exact", async () => {
    const input = Array.from({ length: 150 }, (_, at) => `page ${at}`);
    const body = { model: "voyage", input, output_dtype: "int8", dimensions: 2048 };
    const { embeddings } = await embed(body);
    expect(embeddings).toEqual(input.map((text) => expected(text, "int8", 2048)));
  });

  test("concurrent requests for several types are neither batched nor joined across types", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    hold = promise;
    const requests = Array.from({ length: 40 }, (_, at) => {
      const input = `text ${at % 4}`;
      const type = types[at % types.length] as Type;
      return embed({ model: "voyage", input, output_dtype: type }).then(({ embeddings }) =>
        expect(embeddings).toEqual([expected(input, type)]),
      );
    });
    const floats = Array.from({ length: 8 }, (_, at) =>
      embed({ model: "voyage", input: `text ${at % 4}` }).then(({ embeddings }) =>
        expect(embeddings).toEqual([[...floatsFor(`text ${at % 4}`)]]),
      ),
    );
    resolve();
    await Promise.all([...requests, ...floats]);
  });
});

describe("a model with a target that makes bits, and one that does not", () => {
  test("has the same bits from both", async () => {
    failing = "/voyage";
    const after = await embed({ model: "either", input: "a gate", output_dtype: "binary" });
    expect(after.embeddings).toEqual([expected("a gate", "binary")]);
    failing = "/plain";
    const before = await embed({ model: "either", input: "a fence", output_dtype: "binary" });
    expect(before.embeddings).toEqual([expected("a fence", "binary")]);
    expect(received.some(({ output_dtype }) => output_dtype === "ubinary")).toBe(true);
    expect(received.some((body) => !("output_dtype" in body))).toBe(true);
  });

  test("sends int8 only to the target that makes it", async () => {
    for (let at = 0; at < 8; at++) {
      const { embeddings } = await embed({ model: "either", input: `${at}`, output_dtype: "int8" });
      expect(embeddings).toEqual([expected(`${at}`, "int8")]);
    }
    expect(received.every(({ output_dtype }) => output_dtype === "int8")).toBe(true);
  });
});

describe("the fields", () => {
  test.each([
    { output_dtype: "ubinary" },
    { embedding_type: "ubinary" },
    { embedding_types: ["ubinary"] },
    { encoding_format: "ubinary" },
    { encoding_format: "ubinary", output_dtype: "ubinary", embedding_types: ["ubinary"] },
  ])("%j requests ubinary, and is named as adapted", async (fields) => {
    const result = await embed({ model: "plain", input: "a coat", ...fields });
    expect(result.embeddings).toEqual([expected("a coat", "ubinary")]);
    expect(Object.keys(fields)).toContain(String(result.adapted));
  });

  test.each([
    { output_dtype: "binary", embedding_type: "ubinary" },
    { output_dtype: "float", encoding_format: "int8" },
    { embedding_types: ["binary"], encoding_format: "ubinary" },
  ])("%j is a contradiction, whose error names both", async (fields) => {
    const { status, error } = await embed({ model: "plain", input: "a hat", ...fields });
    expect([status, error?.code]).toEqual([400, "invalid_value"]);
    for (const name of Object.keys(fields)) expect(error?.message).toContain(`'${name}'`);
    expect(received).toEqual([]);
  });

  test.each([
    "/v1/engines/plain/embeddings",
    "/openai/deployments/plain/embeddings?api-version=2024-10-21",
    "/openai/engines/plain/embeddings",
    "/openai/v1/embeddings",
  ])("have the same effect at %s", async (path) => {
    const body = { model: "plain", input: "a road", output_dtype: "binary" };
    expect((await embed(body, path)).embeddings).toEqual([expected("a road", "binary")]);
  });

  test("are in the OpenAPI document", async () => {
    const response = await fetch(`${gateway.url}/openapi.json`);
    const text = await response.text();
    for (const name of ["output_dtype", "embedding_type", "embedding_types", "ubinary"])
      expect(text).toContain(`"${name}"`);
  });
});

test("a gateway behind a gateway decides which types its model makes", async () => {
  const request = (model: string, type: Type) =>
    embed({ model, input: `inner ${type}`, output_dtype: type }, "/v1/embeddings", outer);
  for (const type of types)
    expect((await request("voyage", type)).embeddings).toEqual([expected(`inner ${type}`, type)]);
  const binary = await request("plain", "binary");
  expect(binary.embeddings).toEqual([expected("inner binary", "binary")]);
  const { status, error } = await request("plain", "int8");
  expect(status).toBe(400);
  expect(error?.message).toContain("does not make int8 vectors");
});

test("the built-in model makes bits of its float32 vectors", async () => {
  const model = "all-minilm-l6-v2";
  const [float] = (await embed({ model, input: "a boat" })).embeddings as number[][];
  const { embeddings } = await embed({ model, input: "a boat", output_dtype: "binary" });
  expect(embeddings).toEqual([[...quantize(Float32Array.from(float ?? []), "binary")]]);
});
