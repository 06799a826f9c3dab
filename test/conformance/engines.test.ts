/** The engines path of openai-python before 1.0, with the model in the path. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { fakeVector } from "../fake-upstream.ts";
import { configFor } from "../harness.ts";
import { arrange, bitsOf } from "./arrange.ts";

const rename = (id: string) =>
  `  - { id: "${id}", kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-small }] }\n`;
const { fake, gateway, close } = arrange({
  yaml: (url) =>
    configFor(url).replace(
      "keys:",
      `${rename("BAAI/bge-small")}${rename("c++")}${rename("größe")}keys:`,
    ),
});
beforeEach(() => fake.clear());
afterAll(close);

interface ResponseBody {
  readonly model: string;
  readonly data: { readonly embedding: number[] | string }[];
  readonly error: { readonly code: string; readonly message: string };
}

const send = async (engine: string, body: object) => {
  const response = await gateway.post(`/v1/engines/${engine}/embeddings`, body);
  return { status: response.status, response: (await response.json()) as ResponseBody };
};

describe("/v1/engines/{model}/embeddings", () => {
  test("needs no model in the body", async () => {
    const { status, response } = await send("text-embedding-3-small", { input: "an otter" });
    expect(status).toBe(200);
    expect(bitsOf(response.data[0]!.embedding as number[])).toBe(
      bitsOf(fakeVector("an otter", 1536)),
    );
    expect(response.model).toBe("text-embedding-3-small");
    expect(fake.requests[0]!.json).toEqual({
      model: "text-embedding-3-small",
      input: "an otter",
      encoding_format: "base64",
    });
  });

  test("uses the model of the path, whatever model the body names", async () => {
    const { response } = await send("text-embedding-3-small", { input: "a", model: "gpt-image-2" });
    expect(response.model).toBe("text-embedding-3-small");
  });

  test("returns base64, which those clients request by default", async () => {
    const { response } = await send("text-embedding-3-small", {
      input: ["a", "b"],
      encoding_format: "base64",
    });
    expect(response.data.map(({ embedding }) => embedding)).toEqual(
      ["a", "b"].map((text) => Buffer.from(fakeVector(text, 1536).buffer).toString("base64")),
    );
  });

  test("ignores the `timeout` that those clients send in the body", async () => {
    const { status } = await send("text-embedding-3-small", { input: "a", timeout: 20 });
    expect(status).toBe(200);
    expect(fake.requests[0]!.json).not.toHaveProperty("timeout");
  });

  test.each([
    ["BAAI%2Fbge-small", "BAAI/bge-small"],
    ["BAAI/bge-small", "BAAI/bge-small"],
    ["c%2B%2B", "c++"],
    ["gr%C3%B6%C3%9Fe", "größe"],
  ])("reads %s as %s", async (engine, id) => {
    const { status, response } = await send(engine, { input: "a" });
    expect(status).toBe(200);
    expect(response.model).toBe(id);
    expect(fake.requests[0]!.json).toMatchObject({ model: "text-embedding-3-small" });
  });

  test("decodes a plus as a space (quote_plus)", async () => {
    const { status, response } = await send("no+such+model", { input: "a" });
    expect(status).toBe(404);
    expect(response.error.code).toBe("model_not_found");
    expect(response.error.message).toContain("`no such model`");
  });

  test("is the same with a slash at the end", async () => {
    const { status, response: responseBody } = await send("text-embedding-3-small", { input: "a" });
    const response = await gateway.post("/v1/engines/text-embedding-3-small/embeddings/", {
      input: "a",
    });
    expect([response.status, await response.json()]).toEqual([status, responseBody]);
  });

  test.each(["%", "%E0%A4%A", "%FF"])(
    "returns model_not_found for the malformed name %s",
    async (engine) => {
      const { status, response } = await send(engine, { input: "a" });
      expect(status).toBe(404);
      expect(response.error.code).toBe("model_not_found");
    },
  );

  test("refuses a body without input like /v1/embeddings", async () => {
    const { status, response } = await send("text-embedding-3-small", {});
    expect(status).toBe(400);
    expect(response.error.message).toContain("'$.input' is invalid");
  });
});
