/** HTTPS with the official SDK in Node, whose TLS and HTTP client are its own. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { arrange, base64Of, bitsOf } from "../conformance/arrange.ts";
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

    const openai = `
    import OpenAI from "openai";
    const client = new OpenAI({ ...options, maxRetries: 0 });
    const created = await client.embeddings.create({ model: "${embeddingModel}", input: "${text}" });
    const generated = await client.images.generate({ model: "${imageModel}", prompt: "${text}" });
    const [vector, image] = [created.data[0].embedding, generated.data[0].b64_json];
    console.log(JSON.stringify({ vector, image }));`;

    test("OpenAI's SDK is served with NODE_EXTRA_CA_CERTS", async () => {
      const trusted = { NODE_EXTRA_CA_CERTS: settings.VEXEL_TLS_CERT };
      const shown = (await inNode(openai, trusted)) as { vector: number[]; image: string };
      expect([bitsOf(shown.vector), shown.image]).toEqual([vector, image]);
    });

    test("OpenAI's SDK does not trust the certificate without NODE_EXTRA_CA_CERTS", async () => {
      await expect(inNode(openai, {})).rejects.toThrow(/self-signed certificate|Connection error/);
      expect(fake.requests).toEqual([]);
    });
  });
});
