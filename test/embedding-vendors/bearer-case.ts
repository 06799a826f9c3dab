/** Shared by the cases of vendors with a bearer token: a key, targets, and the parser of requests. */
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import type { EmbeddingInput, Target, Upstream } from "../../server/upstream/contract.ts";
import { kinds } from "../../server/upstream/kinds.ts";
import type { Understood } from "./vendor-case.ts";
import { expectHeader, expectUrl, readBody } from "./written.ts";

export const key = "sk-upstream-0123456789abcdef";

export const targetOf = (
  kind: string,
  model: string,
  more: Partial<Pick<Upstream, "baseUrl" | "options">> = {},
): Target => ({
  model,
  upstream: {
    id: "upstream",
    kind,
    baseUrl: kinds.get(kind)?.baseUrl ?? "https://upstream.example",
    apiKey: key,
    headers: {},
    options: {},
    ...more,
  },
});

/** The body of a request, after checks of its URL and its key. */
export function bodyAt(request: UpstreamRequest, url: string): Readonly<Record<string, unknown>> {
  expectUrl(request, url);
  expectHeader(request, "authorization", `Bearer ${key}`);
  return readBody(request);
}

export function expectModel(body: Readonly<Record<string, unknown>>, { model }: Target): void {
  if (body.model !== model) throw new Error(`there is no model ${String(body.model)}`);
}

/** Vendors with a list of texts accept nothing else in its place. */
export function textsIn(value: unknown): EmbeddingInput {
  if (!Array.isArray(value) || !value.every((text) => typeof text === "string"))
    throw new Error("the input is not a list of texts");
  return { kind: "text", texts: value };
}

export const lengthIn = (value: unknown): Pick<Understood, "dimensions"> =>
  typeof value === "number" ? { dimensions: value } : {};

export const purposeIn = (value: unknown): Pick<Understood, "taskType"> =>
  typeof value === "string" ? { taskType: value } : {};

export const packed = (vector: Float32Array): string =>
  Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64");
