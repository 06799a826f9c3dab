/** Reads responses of contextual models: a list of documents, each with the vectors of its chunks. */
import type { EmbeddingsQuery, EmbeddingsResponse } from "../../contract.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { embeddingsIn } from "../openai/embeddings.ts";
import { listIn, memberOf } from "./members.ts";

/** All inputs are the chunks of one document, in order. */
export function readDocumentChunks(response: unknown, query: EmbeddingsQuery): EmbeddingsResponse {
  const [document, ...others] = listIn(response, "data");
  if (others.length > 0) throw invalidResponse("it has several documents where one was sent");
  const data = listIn(document, "data");
  return embeddingsIn({ data, usage: memberOf(response, "usage") }, query);
}

/** Each input is a document of one chunk. */
export function readDocuments(response: unknown, query: EmbeddingsQuery): EmbeddingsResponse {
  const data = listIn(response, "data").map((document) => {
    const [chunk, ...others] = listIn(document, "data");
    if (others.length > 0) throw invalidResponse("it has several vectors for one input");
    return { index: memberOf(document, "index"), embedding: memberOf(chunk, "embedding") };
  });
  return embeddingsIn({ data, usage: memberOf(response, "usage") }, query);
}
