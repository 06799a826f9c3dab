/** Authentication and authorization: API keys are looked up by hash, shown masked, and limited to their models. */
import { afterAll, describe, expect, test } from "bun:test";
import { authenticate } from "../../server/auth/authenticate.ts";
import type { Snapshot } from "../../server/config/snapshot.ts";
import { testKey } from "../harness.ts";
import {
  embeddingModel,
  expectError,
  imageModel,
  startGatewayWithFake,
} from "../http/gateway-fixture.ts";

const narrow = "sk-narrow-0123456789abcdef";
const globbed = "sk-globbed-0123456789abcdef";
const edge = startGatewayWithFake({
  yaml: `  - { name: narrow, key: ${narrow}, models: [gpt-image-2] }
  - { name: globbed, key: ${globbed}, models: ["text-embedding-*", "image-?odel"] }
`,
});
const { gateway, fake } = edge;
afterAll(() => edge.close());

const embed = (headers: Record<string, string>, model = embeddingModel) =>
  fetch(`${gateway.url}/v1/embeddings`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ model, input: "a" }),
  });

describe("an API key is accepted", () => {
  test.each<[string, Record<string, string>]>([
    ["as a bearer token", { authorization: `Bearer ${testKey}` }],
    ["whatever the case of the scheme", { authorization: `bEARER ${testKey}` }],
    ["with spaces around it", { authorization: `Bearer   ${testKey}  ` }],
    ["in the header api-key, as Azure clients send it", { "api-key": testKey }],
    ["in api-key beside an empty authorization", { "api-key": testKey, authorization: "Bearer" }],
  ])("%s", async (_, headers) => {
    const response = await embed(headers);
    expect(response.status).toBe(200);
    await response.text();
  });
});

describe("without an API key", () => {
  test.each<[string, Record<string, string>]>([
    ["no header", {}],
    ["an empty one", { authorization: "" }],
    ["the scheme alone", { authorization: "Bearer" }],
    ["the scheme and spaces", { authorization: "Bearer   " }],
    ["another scheme", { authorization: "Basic dXNlcjpwYXNz" }],
    ["the key without the scheme", { authorization: testKey }],
    ["an empty api-key", { "api-key": "" }],
  ])("%s, the error says how to send one", async (_, headers) => {
    const message = await expectError(await embed(headers), "missing_api_key");
    expect(message).toStartWith("You didn't provide an API key.");
  });
});

describe("an invalid API key", () => {
  test.each<[string, Record<string, string>]>([
    ["as a bearer token", { authorization: `Bearer ${testKey} ${testKey}` }],
    ["with a tab", { authorization: `Bearer my\tkey-0123456789` }],
    ["in api-key", { "api-key": "my key 0123456789" }],
  ])("that has spaces gets an error with the rule: %s", async (_, headers) => {
    const message = await expectError(await embed(headers), "invalid_api_key");
    expect(message).toContain("visible ASCII characters without spaces");
    expect(message).not.toContain(testKey);
  });

  test("with a long run of spaces takes no more CPU time than a key of letters", () => {
    const snapshot = { keys: new Map() } as unknown as Snapshot;
    const cpuMs = (key: string): number => {
      const headers = {
        get: (name: string) => (name === "authorization" ? `Bearer ${key}` : null),
      };
      const before = process.cpuUsage().user;
      for (let at = 0; at < 20; at++) {
        expect(() => authenticate({ ...headers }, snapshot, 0)).toThrow();
      }
      return (process.cpuUsage().user - before) / 1000;
    };
    const letters = cpuMs(`a${"x".repeat(15_000)}b`);
    // Backtracking over the spaces took 20 times 150 ms.
    expect(cpuMs(`a${" ".repeat(15_000)}b`)).toBeLessThan(10 * letters + 200);
  });

  test("is masked in the message: recognizable, but not usable", async () => {
    const invalidKey = "sk-wrong-0123456789abcdefghij";
    const message = await expectError(
      await embed({ authorization: `Bearer ${invalidKey}` }),
      "invalid_api_key",
    );
    expect(message).toStartWith("Incorrect API key provided: sk-wr****ghij.");
    expect(message).not.toContain("0123");
  });

  test.each([["short"], ["0123456789abcde"]])(
    "that is short (%s) is not shown at all",
    async (key) => {
      const message = await expectError(
        await embed({ authorization: `Bearer ${key}` }),
        "invalid_api_key",
      );
      expect(message).toStartWith("Incorrect API key provided: ****.");
    },
  );

  test.each([
    ["one character more", `${testKey}x`],
    ["one character less", testKey.slice(0, -1)],
    ["in upper case", testKey.toUpperCase()],
    ["its hash instead", new Bun.CryptoHasher("sha256").update(testKey).digest("hex")],
    ["very long", "k".repeat(8_000)],
  ])("that is nearly right is refused: %s", async (_, key) => {
    await expectError(await embed({ authorization: `Bearer ${key}` }), "invalid_api_key");
    await expectError(await embed({ "api-key": key }), "invalid_api_key");
  });

  test("with control characters has them replaced in the message", async () => {
    const response = await embed({
      "api-key":
        "\u009b31m\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u009b0m",
    });
    const message = await expectError(response, "invalid_api_key");
    expect(message).toMatch(/^[\x20-\x7e]+$/);
  });

  test("causes no upstream request and no ledger row", async () => {
    fake.clear();
    const before = gateway.rows().length;
    await expectError(await embed({ authorization: "Bearer sk-wrong" }), "invalid_api_key");
    await expectError(await embed({}), "missing_api_key");
    await expectError(await embed({ authorization: "Basic x" }), "missing_api_key");
    expect(fake.requests).toHaveLength(0);
    expect(gateway.rows()).toHaveLength(before);
  });

  test("is refused before the body is read", async () => {
    const response = await fetch(`${gateway.url}/v1/embeddings`, {
      method: "POST",
      headers: { "content-type": "text/plain" },
      body: "x".repeat(1_000_000),
    });
    await expectError(response, "missing_api_key");
  });
});

describe("an API key may use only its models", () => {
  const as = (key: string) => ({ authorization: `Bearer ${key}` });
  const listed = async (key: string): Promise<string[]> => {
    const response = await fetch(`${gateway.url}/v1/models`, { headers: as(key) });
    const { data } = (await response.json()) as { data: { id: string }[] };
    return data.map(({ id }) => id).sort();
  };

  test("named by their ids", async () => {
    await expectError(await embed(as(narrow)), "model_not_found");
    expect(await listed(narrow)).toEqual([imageModel]);
  });

  test("that match its globs", async () => {
    expect((await embed(as(globbed))).status).toBe(200);
    expect((await embed(as(globbed), "text-embedding-ada-002")).status).toBe(200);
    await expectError(await embed(as(globbed), "embedding-model"), "model_not_found");
    expect(await listed(globbed)).toEqual([
      "image-model",
      "text-embedding-3-small",
      "text-embedding-ada-002",
    ]);
  });

  test("a model that does not exist is not found with any key", async () => {
    await expectError(await embed(as(narrow), "nothing"), "model_not_found");
    await expectError(await embed(as(testKey), "nothing"), "model_not_found");
  });

  test("a model that only other keys may use gets the same error as an unknown model", async () => {
    const headers = as(narrow);
    const shown = (id: string) => fetch(`${gateway.url}/v1/models/${id}`, { headers });
    const embedWith = (id: string) => embed(headers, id);
    for (const send of [shown, embedWith]) {
      const [hidden, missing] = await Promise.all([send(embeddingModel), send("nothing")]);
      const message = await expectError(hidden, "model_not_found");
      expect(message.replace(embeddingModel, "nothing")).toBe(
        await expectError(missing, "model_not_found"),
      );
      const names = ({ headers }: Response) => [...headers.keys()].sort();
      expect(names(hidden)).toEqual(names(missing));
    }
  });

  test("a model that the key may not use is refused without an upstream request, and has a ledger row", async () => {
    fake.clear();
    const response = await embed(as(narrow));
    expect(fake.requests).toHaveLength(0);
    expect(gateway.rows().at(-1)).toMatchObject({
      requestId: response.headers.get("x-request-id"),
      keyId: "file:narrow",
      model: embeddingModel,
      upstream: null,
      attempts: 0,
      status: 404,
      error: "model_not_found",
    });
  });
});
