/** Images on their way through the gateway to vendors that take them by a signature, a form or a path of their own. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash, generateKeyPairSync } from "node:crypto";
import { signatureHeaders } from "../../server/upstream/adapters/amazon/sigv4.ts";
import { startGateway, type TestGateway, testKey } from "../harness.ts";
import { dataUrl, type EmbeddingsBody, png } from "./multimodal-fixture.ts";

interface Received {
  readonly path: string;
  readonly headers: Headers;
  readonly body: Buffer;
}

const vector = [0.5, -0.25];
const list = { data: [{ index: 0, embedding: vector }], usage: { prompt_tokens: 3 } };
const answers: Readonly<Record<string, unknown>> = {
  "/model/amazon.titan-embed-image-v1/invoke": { embedding: vector, inputTextTokenCount: 3 },
  "/20231130/actions/embedText": { embeddings: [vector] },
  "/models/images/embeddings": list,
  "/v1/embedding/image": { embeddings: [vector], usage: { prompt_tokens: 3 } },
  "/v1/embeddings": list,
};

const received: Received[] = [];
const upstream = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async (request) => {
    const { pathname: path } = new URL(request.url);
    received.push({ path, headers: request.headers, body: Buffer.from(await request.bytes()) });
    return Response.json(answers[path] ?? {}, { status: answers[path] ? 200 : 404 });
  },
});

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const pem = JSON.stringify(privateKey.export({ type: "pkcs8", format: "pem" }));
const url = `http://127.0.0.1:${upstream.port}`;

const amazonKey = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "example-secret" };

let gateway: TestGateway;
beforeAll(() => {
  const modelOf = (id: string, model: string, upstreamId = id) =>
    `  - { id: ${id}, kind: embedding, dimensions: 2, targets: [{ upstream: ${upstreamId}, model: "${model}" }] }`;
  gateway = startGateway({
    yaml: `
upstreams:
  - { id: bedrock, kind: bedrock, baseUrl: "${url}", region: us-east-1, accessKeyId: ${amazonKey.accessKeyId}, secretAccessKey: ${amazonKey.secretAccessKey} }
  - { id: oci, kind: oci, baseUrl: "${url}", region: us-chicago-1, compartmentId: ocid1.compartment.oc1..a, tenancy: ocid1.tenancy.oc1..a, user: ocid1.user.oc1..a, fingerprint: "20:3b", privateKey: ${pem} }
  - { id: azure-ai, kind: azure-ai, baseUrl: "${url}", apiKey: key }
  - { id: nomic, kind: nomic, baseUrl: "${url}/v1", apiKey: key }
  - { id: vllm, kind: vllm, baseUrl: "${url}/v1" }
  - { id: sglang, kind: sglang, baseUrl: "${url}/v1" }
  - { id: openrouter, kind: openrouter, baseUrl: "${url}/v1", apiKey: key }
models:
${modelOf("bedrock", "amazon.titan-embed-image-v1")}
${modelOf("oci", "cohere.embed-v4.0")}
${modelOf("azure-ai", "embed-v-4-0")}
${modelOf("nomic", "nomic-embed-vision-v1.5")}
${modelOf("vllm", "Qwen/Qwen3-VL-Embedding-8B")}
${modelOf("vllm-gme", "Alibaba-NLP/gme-Qwen2-VL-2B-Instruct", "vllm")}
${modelOf("vllm-clip", "openai/clip-vit-base-patch32", "vllm")}
${modelOf("sglang", "Alibaba-NLP/gme-Qwen2-VL-2B-Instruct")}
${modelOf("sglang-texts", "Qwen/Qwen3-Embedding-8B", "sglang")}
${modelOf("openrouter", "cohere/embed-5-pro")}
keys:
  - { name: test, key: ${testKey} }
`,
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop(true);
});

/** Larger than what is kept in memory, so that it is streamed from a file. */
const image = png(7, { padding: 600_000 });

async function embed(model: string, input: unknown): Promise<Received> {
  const before = received.length;
  const response = await gateway.post("/v1/embeddings", { model, input });
  const { data, error } = (await response.json()) as EmbeddingsBody;
  expect(error).toBeUndefined();
  expect(data.map(({ embedding }) => embedding)).toEqual([vector]);
  const [request, ...others] = received.slice(before);
  if (!request || others.length > 0) throw new Error("not one upstream request");
  return request;
}

/** As Amazon computes it, from the whole body. */
function amazonSignature({ path, headers, body }: Received): string {
  const [, ...date] = /^(.{4})(..)(..)T(..)(..)(..)Z$/.exec(headers.get("x-amz-date") ?? "") ?? [];
  const [year, month, ...rest] = date.map(Number);
  const signed = signatureHeaders(
    {
      method: "POST",
      url: url + path,
      headers: { "content-type": headers.get("content-type") ?? "" },
      body: body.toString(),
    },
    { ...amazonKey, region: "us-east-1", service: "bedrock", sessionToken: undefined },
    Date.UTC(year ?? 0, (month ?? 0) - 1, ...rest),
  );
  return signed.authorization ?? "";
}

const both = { text: "a red boat", image: dataUrl(image) };

test("a signature of Amazon or Oracle covers the image that is sent", async () => {
  const amazon = await embed("bedrock", both);
  expect(amazon.headers.get("authorization")).toBe(amazonSignature(amazon));
  const oracle = await embed("oci", both);
  expect(oracle.headers.get("x-content-sha256")).toBe(
    createHash("sha256").update(oracle.body).digest("base64"),
  );
  expect(oracle.headers.get("authorization")).toContain("(request-target) host content-length");
  for (const { body } of [amazon, oracle]) {
    expect(body.toString()).toContain("a red boat");
    expect(body.toString()).toContain(image.toString("base64"));
  }
});

test("an image is sent in the form of each vendor, with its bytes unchanged", async () => {
  const { path, body: azure } = await embed("azure-ai", both);
  expect([path, JSON.parse(azure.toString()).input]).toEqual(["/models/images/embeddings", [both]]);
  const nomic = await embed("nomic", { image: dataUrl(image) });
  expect(nomic.headers.get("content-type")).toStartWith("multipart/form-data; boundary=");
  expect(nomic.body.includes(image)).toBe(true);
  const vllm = JSON.parse((await embed("vllm", both)).body.toString());
  expect(vllm.messages[1].content).toEqual([
    { type: "text", text: both.text },
    { type: "image_url", image_url: { url: both.image } },
  ]);
});

test("vLLM applies the same chat template to a text as to an image", async () => {
  const fieldsOf = async (model: string, input: unknown) => {
    const {
      input: own,
      messages,
      ...others
    } = JSON.parse((await embed(model, input)).body.toString());
    const content = messages?.find(({ role }: { role: string }) => role === "user").content;
    return { own, content, template: JSON.stringify([messages, others]) };
  };
  const partsOf = ({ content, template }: { content: unknown; template: string }) =>
    template.replace(JSON.stringify(content), "content");
  for (const model of ["vllm", "vllm-gme"]) {
    const text = await fieldsOf(model, "a boat");
    expect(text.content).toEqual([{ type: "text", text: "a boat" }]);
    // cl100k_base: " boat".
    expect((await fieldsOf(model, [15688])).content).toEqual([{ type: "text", text: " boat" }]);
    expect(partsOf(text)).toBe(partsOf(await fieldsOf(model, { image: dataUrl(png(1)) })));
  }
  // CLIP has no conversation.
  expect((await fieldsOf("vllm-clip", "a boat")).own).toEqual("a boat");
});

test("SGLang gets a text of a model that reads images as an object, as it gets an image", async () => {
  const inputOf = async (model: string, input: unknown) =>
    JSON.parse((await embed(model, input)).body.toString()).input;
  expect(await inputOf("sglang", "a boat")).toEqual([{ text: "a boat" }]);
  expect(await inputOf("sglang", [15688])).toEqual([{ text: " boat" }]);
  expect(await inputOf("sglang", both)).toEqual([both]);
  expect(await inputOf("sglang-texts", "a boat")).toEqual("a boat");
});

test("OpenRouter gets images for the names that it gives Cohere's models", async () => {
  const { body } = await embed("openrouter", both);
  expect(body.toString()).toContain(image.toString("base64"));
});
