/** Helpers that write vendors' responses and read the gateway's requests. */
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import type { QuantizedVector } from "../../server/upstream/contract.ts";
import type { Understood, VendorResponse } from "./vendor-case.ts";

const types: readonly unknown[] = ["int8", "uint8", "binary", "ubinary"];

/** The vendor's field, or nothing if it has no quantized type. */
export const outputTypeIn = (value: unknown): Pick<Understood, "outputType"> =>
  types.includes(value) ? { outputType: value as NonNullable<Understood["outputType"]> } : {};

/** As OpenAI responds, with lists of integers. */
export const quantizedList = (vectors: readonly QuantizedVector[]): VendorResponse => ({
  body: JSON.stringify({
    object: "list",
    data: vectors.map((vector, index) => ({ object: "embedding", index, embedding: [...vector] })),
    model: "m",
    usage: { prompt_tokens: 3, total_tokens: 3 },
  }),
});

/** Every bit of a float32 survives, even the sign of a zero. Empty if there is no vector. */
export const writeFloats = (vector: Float32Array | undefined): string =>
  vector
    ? `[${Array.from(vector, (number) => (Object.is(number, -0) ? "-0" : String(number))).join(",")}]`
    : "null";

export function readBody({ body, headers }: UpstreamRequest): Readonly<Record<string, unknown>> {
  if (typeof body !== "string") throw new Error("the body is not text");
  if (headers["content-type"] !== "application/json")
    throw new Error("the body is not called JSON");
  return JSON.parse(body);
}

export function expectHeader({ headers }: UpstreamRequest, name: string, value: string): void {
  if (headers[name] !== value) throw new Error(`${name} is ${headers[name]}`);
}

export function expectUrl({ url }: UpstreamRequest, expected: string): void {
  if (url !== expected) throw new Error(`the address is ${url} instead of ${expected}`);
}

/** A vendor that accepts only these fields refuses a body with others. */
export function expectOnly(value: object, names: readonly string[]): void {
  const odd = Object.keys(value).filter((name) => !names.includes(name));
  if (odd.length > 0) throw new Error(`there are no fields called ${odd.join(", ")}`);
}
