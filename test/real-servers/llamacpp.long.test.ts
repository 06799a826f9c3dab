/** The gateway in front of a real llama.cpp server, under each kind of upstream that may be one. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { startGateway, type TestGateway } from "../harness.ts";
import { until } from "../until.ts";
import { declareEmbeddingCases, expectSame, post, vectorsOf } from "./embedding-cases.ts";
import { installLlamaServer, startLlamaServer } from "./llama-server.ts";
import { describeServers, type RealServer, stopServers, timeoutMs } from "./servers.ts";

/** More tokens than the model reads, and than the server takes at once (its physical batch size). */
const [tooLong, tooLarge] = ["boat ".repeat(200), "boat ".repeat(600)];
const kinds = ["llamacpp", "openai-compatible", "lmstudio", "localai"];

describeServers(["llamacpp"], () => {
  let server: RealServer;
  let gateway: TestGateway;

  beforeAll(async () => {
    await installLlamaServer();
    server = await startLlamaServer();
    gateway = startGateway({
      settings: { VEXEL_CACHE_BYTES: "0" },
      yaml: `
upstreams:
${kinds.map((kind) => `  - { id: ${kind}, kind: ${kind}, baseUrl: "${server.baseUrl}" }`).join("\n")}
  - { id: without-v1, kind: llamacpp, baseUrl: "${new URL(server.baseUrl).origin}" }
models:
${[...kinds, "without-v1"].map((id) => `  - { id: ${id}, kind: embedding, targets: [{ upstream: ${id}, model: tiny }] }`).join("\n")}
keys:
  - { name: test, key: sk-test-0123456789abcdef }
`,
    });
  }, timeoutMs);

  afterAll(async () => {
    await gateway?.close();
    await stopServers();
  }, timeoutMs);

  const embed = (model: string, input: unknown, more: object = {}): Promise<Response> =>
    gateway.post("/v1/embeddings", { model, input, ...more });
  const direct = (input: unknown): Promise<Response> =>
    post(`${server.baseUrl}/embeddings`, { model: "tiny", input });

  declareEmbeddingCases({ gateway: () => gateway, model: "llamacpp", direct });

  test("vectors in base64 are those of the server to the bit", async () => {
    const ofServer = await post(`${server.baseUrl}/embeddings`, {
      input: "a red boat",
      encoding_format: "base64",
    });
    const ofGateway = await embed("llamacpp", "a red boat", { encoding_format: "base64" });
    expect(await vectorsOf(ofGateway)).toEqual(await vectorsOf(ofServer));
  });

  test("another number of dimensions is refused", async () => {
    const response = await embed("llamacpp", "a red boat", { dimensions: 32 });
    expect(response.status).toBe(400);
  });

  test("a baseUrl without /v1 serves too", async () => {
    expectSame(
      await vectorsOf(await embed("without-v1", "a red boat")),
      await vectorsOf(await direct("a red boat")),
    );
  });

  test("the server itself reports what is too large as its own failure", async () => {
    expect((await direct(tooLong)).status).toBe(400);
    expect((await direct(tooLarge)).status).toBe(500);
  });

  test.each(kinds)(
    "texts that are too long are the client's error, and take the server from nobody: %s",
    async (kind) => {
      for (let turn = 0; turn < 8; turn++) {
        for (const input of [tooLong, tooLarge]) {
          const response = await embed(kind, `${turn} ${input}`);
          const { error } = (await response.json()) as { error: object };
          expect({ status: response.status, ...error }).toMatchObject({
            status: 400,
            code: null,
            type: "invalid_request_error",
            message: expect.stringMatching(/too large to process|max context size/),
          });
          expect(gateway.rows().at(-1)).toMatchObject({
            error: "context_length_exceeded",
            attempts: 1,
          });
        }
      }
      await vectorsOf(await embed(kind, "a red boat"));
      expect(gateway.log()).not.toContain("target-ejected");
    },
  );

  test("of 100 concurrent requests, 10 with a text that is too long, 90 are served", async () => {
    const statuses = await Promise.all(
      Array.from({ length: 100 }, async (_, at) => {
        const input = at % 10 === 0 ? `${at} ${tooLarge}` : `a red boat ${at}`;
        const response = await embed("llamacpp", input);
        await response.arrayBuffer();
        return response.status;
      }),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(90);
    expect(statuses.filter((status) => status === 400)).toHaveLength(10);
  });

  test(
    "requests wait for a server that is stopped, fail after its end, and are served after its start",
    async () => {
      server.process.kill("SIGSTOP");
      const pending = embed("llamacpp", "a blue boat");
      await Bun.sleep(2000);
      server.process.kill("SIGCONT");
      await vectorsOf(await pending);
      server.process.kill("SIGKILL");
      await server.process.exited;
      expect((await embed("llamacpp", "a blue boat")).status).toBe(502);
      server = await startLlamaServer(Number(new URL(server.baseUrl).port));
      await until(async () => (await embed("llamacpp", "a blue boat")).status === 200);
    },
    timeoutMs,
  );
});
