/** Quantized vectors with the official SDKs, which request base64 by themselves and leave lists as they are. */
import { describe, expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import { startGateway, testKey } from "../harness.ts";
import { quantize } from "../laws/output-types.ts";
import { testIf } from "../programs.ts";
import { pythonWithOpenai, withPython } from "../python.ts";
import { clientOf } from "./arrange.ts";

type Type = "int8" | "binary";
const vector = Float32Array.from({ length: 1024 }, (_, at) => Math.cos(at * at));

/** Voyage: makes the requested type. */
const vendor = Bun.serve({
  port: 0,
  fetch: async (request) => {
    const { output_dtype } = (await request.json()) as { output_dtype: Type };
    const data = [
      { object: "embedding", index: 0, embedding: [...quantize(vector, output_dtype)] },
    ];
    return Response.json({ object: "list", data, model: "voyage-3.5", usage: { total_tokens: 3 } });
  },
});
const gateway = startGateway({
  yaml: JSON.stringify({
    upstreams: [
      { id: "v", kind: "voyage", baseUrl: `http://127.0.0.1:${vendor.port}`, apiKey: "k" },
    ],
    models: [{ id: "m", kind: "embedding", targets: [{ upstream: "v", model: "voyage-3.5" }] }],
    keys: [{ name: "test", key: testKey }],
  }),
});
closeAfterAll(gateway, vendor);

const expected = (type: Type): number[] => [...quantize(vector, type)];

describe.each(["int8", "binary"] as const)("%s vectors", (type) => {
  test("are read by the official Node SDK, in its default encoding and as float", async () => {
    for (const encoding of [{}, { encoding_format: "float" as const }]) {
      const body = { model: "m", input: "a boat", output_dtype: type, ...encoding };
      const { data } = await clientOf(gateway).embeddings.create(body);
      expect(data.map(({ embedding }) => embedding)).toEqual([expected(type)]);
    }
  });

  testIf(withPython)("are read by the official Python SDK, through extra_body", async () => {
    const program = `
from openai import OpenAI
client = OpenAI(base_url="${gateway.baseURL}", api_key="${testKey}")
response = client.embeddings.create(model="m", input="a boat", extra_body={"output_dtype": "${type}"})
print(response.data[0].embedding)
`;
    const child = Bun.spawn([pythonWithOpenai ?? "python3", "-c", program], { stderr: "pipe" });
    expect(JSON.parse(await child.stdout.text())).toEqual(expected(type));
  });
});
