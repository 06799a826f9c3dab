/** HTTPS with the SDKs that clients use: in this process, and in Node, whose TLS and HTTP client are its own. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { OpenAIEmbeddings } from "@langchain/openai";
import { embed, generateImage } from "ai";
import { arrange, base64Of, bitsOf, grayImage } from "../conformance/arrange.ts";
import { fakeImage, fakeVector } from "../fake-upstream.ts";
import { root, temporaryFolder, testKey } from "../harness.ts";
import { testsWith } from "../programs.ts";
import { embeddingModel, imageModel } from "./gateway-fixture.ts";
import { certificateFiles, newCertificate } from "./tls-fixture.ts";

testsWith(["openssl"], import.meta.file, () => {
  const certificate = newCertificate();
  const folder = temporaryFolder();
  const { settings } = certificateFiles(folder.path, certificate);
  const { fake, gateway, close } = arrange({ settings });
  beforeEach(() => fake.clear());
  afterAll(async () => {
    await close();
    folder[Symbol.dispose]();
  });

  const text = "an otter";
  const vector = bitsOf(fakeVector(text, 1536));
  const big = { format: "png", width: 1024, height: 1024 } as const;
  const image = base64Of(fakeImage(text, 0, big));
  /** `fetch` with the certificate as an authority. */
  const trusting = Object.assign(
    (input: string | URL | Request, init?: RequestInit) =>
      fetch(input, { ...init, tls: { ca: certificate.cert } }),
    { preconnect: fetch.preconnect },
  );

  describe("in this process", () => {
    test("the AI SDK embeds, generates an image and uploads one to edit", async () => {
      const provider = createOpenAICompatible({
        name: "vexel",
        baseURL: gateway.baseURL,
        apiKey: testKey,
        fetch: trusting,
      });
      const { embedding } = await embed({
        model: provider.embeddingModel(embeddingModel),
        value: text,
      });
      expect(bitsOf(embedding)).toBe(vector);
      const model = provider.imageModel(imageModel);
      expect((await generateImage({ model, prompt: text })).image.base64).toBe(image);
      const edited = await generateImage({ model, prompt: { text, images: [grayImage("first")] } });
      expect(edited.image.base64).toBe(image);
    });

    test("LangChain embeds a query, and documents in several requests", async () => {
      const embeddings = new OpenAIEmbeddings({
        model: embeddingModel,
        apiKey: testKey,
        maxRetries: 0,
        batchSize: 2,
        configuration: { baseURL: gateway.baseURL, fetch: trusting },
      });
      expect(bitsOf(await embeddings.embedQuery(text))).toBe(vector);
      const documents = ["one", "two", "three"];
      const vectors = await embeddings.embedDocuments(documents);
      expect(vectors.map(bitsOf)).toEqual(documents.map((each) => bitsOf(fakeVector(each, 1536))));
    });
  });

  describe("in Node", () => {
    /** Runs the body of a module, and returns the JSON that it prints. */
    async function inNode(script: string, env: Readonly<Record<string, string>>): Promise<unknown> {
      const options = { baseURL: gateway.baseURL, apiKey: testKey };
      const child = Bun.spawn(
        [
          "node",
          "--input-type=module",
          "-e",
          `const options = ${JSON.stringify(options)};${script}`,
        ],
        { cwd: root, env: { PATH: process.env.PATH, ...env }, stdout: "pipe", stderr: "pipe" },
      );
      const [stdout, stderr, code] = await Promise.all([
        child.stdout.text(),
        child.stderr.text(),
        child.exited,
      ]);
      if (code !== 0) throw new Error(stderr);
      return JSON.parse(stdout);
    }

    const print = "console.log(JSON.stringify({ vector, image }));";
    const openai = `
    import OpenAI from "openai";
    const client = new OpenAI({ ...options, maxRetries: 0 });
    const created = await client.embeddings.create({ model: "${embeddingModel}", input: "${text}" });
    const generated = await client.images.generate({ model: "${imageModel}", prompt: "${text}" });
    const [vector, image] = [created.data[0].embedding, generated.data[0].b64_json];
    ${print}`;
    const aiSdk = `
    import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
    import { embed, generateImage } from "ai";
    const provider = createOpenAICompatible({ ...options, name: "vexel" });
    const model = provider.embeddingModel("${embeddingModel}");
    const { embedding: vector } = await embed({ model, value: "${text}", maxRetries: 0 });
    const generated = await generateImage({ model: provider.imageModel("${imageModel}"), prompt: "${text}" });
    const image = generated.image.base64;
    ${print}`;
    const langchain = `
    import { OpenAIEmbeddings } from "@langchain/openai";
    const { baseURL, apiKey } = options;
    const embeddings = new OpenAIEmbeddings({
      model: "${embeddingModel}", apiKey, maxRetries: 0, configuration: { baseURL },
    });
    const vector = await embeddings.embedQuery("${text}");
    const image = undefined;
    ${print}`;

    test.each([
      ["OpenAI's SDK", openai, image],
      ["the AI SDK", aiSdk, image],
      ["LangChain, for embeddings only,", langchain, undefined],
    ])("%s is served with NODE_EXTRA_CA_CERTS", async (_, script, expectedImage) => {
      const trusted = { NODE_EXTRA_CA_CERTS: settings.VEXEL_TLS_CERT };
      const shown = (await inNode(script, trusted)) as { vector: number[]; image?: string };
      expect([bitsOf(shown.vector), shown.image]).toEqual([vector, expectedImage]);
    });

    test.each([
      ["OpenAI's SDK", openai],
      ["the AI SDK", aiSdk],
      ["LangChain", langchain],
    ])("%s does not trust the certificate without NODE_EXTRA_CA_CERTS", async (_, script) => {
      await expect(inNode(script, {})).rejects.toThrow(/self-signed certificate|Connection error/);
      expect(fake.requests).toEqual([]);
    });
  });
});
