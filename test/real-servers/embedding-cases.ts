/** Embeddings of a real server: the gateway returns what the server returns to the same request without it. */
import { expect, test } from "bun:test";
import type { TestGateway } from "../harness.ts";

export interface Embeddings {
  readonly data: readonly { readonly embedding: number[] | string }[];
  readonly usage: { readonly prompt_tokens: number };
}

export const post = (url: string, body: object): Promise<Response> =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

export async function vectorsOf(response: Response): Promise<number[][]> {
  expect(response.status).toBe(200);
  const { data } = (await response.json()) as Embeddings;
  return data.map(({ embedding }) =>
    typeof embedding === "string"
      ? [...new Float32Array(new Uint8Array(Buffer.from(embedding, "base64")).buffer)]
      : embedding,
  );
}

/** The sum of different batches differs in the last bits of a float32. */
export function expectSame(
  actual: readonly (readonly number[])[],
  expected: readonly (readonly number[])[],
): void {
  expect(actual).toHaveLength(expected.length);
  for (const [at, vector] of expected.entries()) {
    expect(actual[at]).toHaveLength(vector.length);
    const furthest = Math.max(
      ...vector.map((number, index) => Math.abs(number - actual[at]![index]!)),
    );
    expect(furthest).toBeLessThan(1e-5);
  }
}

export interface EmbeddingCases {
  readonly gateway: () => TestGateway;
  /** The gateway's model, whose vectors have 64 numbers. */
  readonly model: string;
  /** Asks the server itself. */
  readonly direct: (input: unknown) => Promise<Response>;
}

const sentences = Array.from({ length: 200 }, (_, at) => `the red boat ${at} on the sea`);

export function declareEmbeddingCases({ gateway, model, direct }: EmbeddingCases): void {
  const embed = (input: unknown, more: object = {}): Promise<Response> =>
    gateway().post("/v1/embeddings", { model, input, ...more });

  test.each([
    ["a text", "a red boat"],
    ["a list", ["a red boat", "a blue boat"]],
    ["other scripts", ["你好, 世界", "привет", "🦦"]],
    ["200 texts", sentences],
  ])("the vectors of %s are those of the server", async (_, input) => {
    const expected = await vectorsOf(await direct(input));
    expectSame(await vectorsOf(await embed(input)), expected);
    const base64 = await embed(input, { encoding_format: "base64" });
    expectSame(await vectorsOf(base64), expected);
  });

  test("token arrays have the vectors of their text", async () => {
    // cl100k_base: "hello world".
    const actual = await vectorsOf(await embed([[15339, 1917]]));
    expectSame(actual, await vectorsOf(await direct(["hello world"])));
  });

  test("the own number of dimensions is accepted", async () => {
    const expected = await vectorsOf(await direct("a red boat"));
    expectSame(await vectorsOf(await embed("a red boat", { dimensions: 64 })), expected);
  });

  test("a task type is reported as dropped", async () => {
    const response = await embed("a red boat", { input_type: "query" });
    expect(response.headers.get("vexel-dropped")).toBe("input_type");
    await vectorsOf(response);
  });
}
