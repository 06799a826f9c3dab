/**
 * A law over every embeddings adapter: no passthrough field can change the encoding of the vectors that the upstream
 * sends. A field that would is refused by name, before anything is sent.
 */
import { beforeEach, expect, test } from "bun:test";
import { outputTypeFields, quantizedTypes } from "../../server/embeddings/output-type.ts";
import { encodingFields } from "../../server/embeddings/refuse-other-encodings.ts";
import { closeAfterAll } from "../clean-up.ts";
import { vendorCases } from "../embedding-vendors/index.ts";
import { startGateway } from "../harness.ts";

/** The bodies of upstream requests. */
let received: Record<string, unknown>[] = [];
beforeEach(() => {
  received = [];
});

const vector = Float32Array.of(0.5, -2, 0.125, 8);

/** voyageai 0.5.0 and vllm 0.33.0: the numbers of a vector, in the type and the byte order of the request. */
function encoded({ output_dtype, embed_dtype, endianness, encoding_format }: Fields): unknown {
  const numbers = Array.from(vector);
  const type = output_dtype ?? embed_dtype ?? "float32";
  const small = type !== "float" && type !== "float32";
  if (encoding_format !== "base64") return small ? numbers.map(Math.trunc) : numbers;
  const bytes = small ? Buffer.from(Int8Array.from(numbers)) : Buffer.from(vector.slice().buffer);
  return (endianness === "big" ? bytes.swap32() : bytes).toString("base64");
}

type Fields = Readonly<Record<string, unknown>>;

const vendor = Bun.serve({
  port: 0,
  fetch: async (request) => {
    const body = (await request.json()) as Record<string, unknown>;
    received.push(body);
    const { input } = body;
    const data = [input].flat().map((_, index) => ({
      object: "embedding",
      index,
      embedding: encoded(body),
    }));
    return Response.json({ object: "list", data, model: "m", usage: { total_tokens: 3 } });
  },
});
const baseUrl = `http://127.0.0.1:${vendor.port}`;

/** A target of each kind. */
const targets = [...new Map(vendorCases.map(({ target }) => [target.upstream.kind, target]))].map(
  ([kind, target]) => ({ kind, target }),
);

/** The target of each kind as the only target of a model. */
const gateway = startGateway({
  settings: { VEXEL_CACHE_BYTES: "1000000" },
  yaml: JSON.stringify({
    upstreams: [
      ...targets.map(({ kind, target: { upstream } }) => ({
        id: kind,
        kind,
        baseUrl,
        ...upstream.options,
        apiKey: "k",
        // The API key is enough, and the id in the cases has no prefix.
        serviceAccount: undefined,
        ...(kind === "oci" && { compartmentId: "ocid1.compartment.oc1..a" }),
      })),
    ],
    models: [
      ...targets.map(({ kind, target }) => ({
        id: kind,
        kind: "embedding",
        targets: [{ upstream: kind, model: /voyage|vllm/.test(kind) ? "in-house" : target.model }],
      })),
    ],
    keys: [{ name: "test", key: "sk-test-0123456789abcdef" }],
  }),
});
closeAfterAll(gateway, vendor);

async function expectRefused(
  model: string,
  fields: object,
  param: string,
  path = "/v1/embeddings",
): Promise<void> {
  const response = await gateway.post(path, { model, input: "a boat", ...fields });
  const { error } = (await response.json()) as { error: Record<string, string> };
  expect([model, param, response.status, error.code, error.param]).toEqual([
    model,
    param,
    400,
    "invalid_value",
    param,
  ]);
  expect(error.message).toContain(param);
  expect(error.message).toContain("float32");
  expect(received).toEqual([]);
}

/** The other words of the vendors, and values that are no encoding at all. */
const others = ["int8", "binary", "big", "sparse", 7, {}, [], ["float", "int8"], true];

const isOutputType = (field: string, value: unknown): boolean =>
  outputTypeFields.some((name) => name === field) && quantizedTypes.some((type) => type === value);

test.each(targets)(
  "$kind: another encoding is refused by name, and nothing is sent",
  async ({ kind }) => {
    for (const [at, field] of [...encodingFields.keys()].entries()) {
      const value = others[(at + kind.length) % others.length];
      const nested = { extra_body: { options: [{ [field]: value }] } };
      await expectRefused(kind, nested, `extra_body.options[0].${field}`);
      // At the top level, the schema of the request refuses it, and some fields request quantized vectors.
      if (field !== "encoding_format" && !isOutputType(field, value))
        await expectRefused(kind, { [field]: value }, field);
    }
  },
);

test("no other value of such a field is passed on", async () => {
  for (const field of encodingFields.keys())
    for (const value of others)
      await expectRefused("vllm", { extra_body: { [field]: value } }, `extra_body.${field}`);
});

test("`encoding_format` has no values of one vendor, whatever the kind of upstream", async () => {
  for (const value of ["float16", "bytes", "bytes_only", "base64_int8", ["float"]]) {
    const body = { model: "vllm", input: "a boat", encoding_format: value };
    const response = await gateway.post("/v1/embeddings", body);
    const { error } = (await response.json()) as { error: Record<string, string> };
    expect([response.status, error.param]).toEqual([400, "encoding_format"]);
  }
  expect(received).toEqual([]);
});

test("every route of embeddings refuses such a field", async () => {
  const paths = [
    "/v1/engines/vllm/embeddings",
    "/openai/deployments/vllm/embeddings?api-version=2024-10-21",
    "/openai/embeddings",
    "/openai/engines/vllm/embeddings",
    "/openai/v1/embeddings",
  ];
  for (const path of paths) await expectRefused("vllm", { endianness: "big" }, "endianness", path);
});

const embed = async (fields: object): Promise<{ status: number; embedding: number[] }> => {
  const response = await gateway.post("/v1/embeddings", { input: "a boat", ...fields });
  const { data } = (await response.json()) as { data?: { embedding: number[] }[] };
  return { status: response.status, embedding: data?.[0]?.embedding ?? [] };
};

test.each([
  ["voyage", { output_encoding: "base64" }],
  ["vllm", { embed_dtype: "float32", endianness: "little" }],
  ["vllm", { endianness: "native" }],
  ["vllm", { embedding_types: ["base64"], return_multivector: false }],
] as const)("%s gets %j, which is float32, and its vectors are exact", async (model, fields) => {
  expect(await embed({ model, ...fields })).toEqual({ status: 200, embedding: [...vector] });
  expect(received).toHaveLength(1);
  expect(received[0]).toMatchObject(fields);
});

test.each([{ output_dtype: "float" }, { embedding_type: "float" }, { embedding_types: ["float"] }])(
  "%j is the default, which no upstream needs: it is not passed on",
  async (fields) => {
    const input = JSON.stringify(fields);
    expect(await embed({ model: "vllm", input, ...fields })).toEqual({
      status: 200,
      embedding: [...vector],
    });
    expect(Object.keys(received[0] ?? {}).sort()).toEqual(["encoding_format", "input", "model"]);
  },
);

test("a refused encoding takes no cached vector, no place in a batch, and no health of the target", async () => {
  for (let round = 0; round < 20; round++) {
    const requests = Array.from({ length: 8 }, (_, at) =>
      at % 2 === 0
        ? embed({ model: "voyage", input: `a boat ${round} ${at}` })
        : embed({ model: "voyage", input: `a boat ${round} ${at - 1}`, output_dtype: "int8" }),
    );
    const responses = await Promise.all(requests);
    for (const [at, { status, embedding }] of responses.entries()) {
      expect(status).toBe(at % 2 === 0 ? 200 : 400);
      if (at % 2 === 0) expect(embedding).toEqual([...vector]);
    }
  }
  expect(received.some((body) => "output_dtype" in body)).toBe(false);
});
