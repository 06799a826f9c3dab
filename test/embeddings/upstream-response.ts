/** Responses that a test gives the fake upstream. */
import type { InjectedFault } from "../fake-upstream.ts";

export const jsonResponse = (body: object, status = 200): InjectedFault => ({
  response: {
    status,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  },
});

/** One vector, the usage that the upstream reports, and other fields of the response. */
export const embeddingResponse = (
  embedding: ArrayLike<number>,
  usage: { readonly prompt_tokens: number; readonly total_tokens?: number } = { prompt_tokens: 1 },
  fields: object = {},
): InjectedFault =>
  jsonResponse({
    object: "list",
    data: [{ object: "embedding", index: 0, embedding: Array.from(embedding) }],
    model: "m",
    usage: { total_tokens: usage.prompt_tokens, ...usage },
    ...fields,
  });
