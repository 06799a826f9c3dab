/**
 * Vendors with native embeddings APIs do not truncate texts, average vectors or hide an error unless requested.
 */
import { describe, expect, test } from "bun:test";
import { adapters } from "../../server/upstream/adapters/index.ts";
import type { EmbeddingsQuery, ExtraFields } from "../../server/upstream/contract.ts";
import { targetOf } from "../embedding-vendors/bearer-case.ts";
import { upstreamResponseOf } from "../laws/adapter-cases.ts";
import { embeddingsQuery, errorKindOf } from "../laws/adapter-responses.ts";

const queryWith = (extraFields: ExtraFields = {}): EmbeddingsQuery => ({
  ...embeddingsQuery(1),
  extraFields,
});

const adapterOf = (kind: string) => {
  const adapter = adapters.get(kind);
  if (!adapter?.embeddings) throw new Error(`${kind} has no embeddings`);
  return { ...adapter, embeddings: adapter.embeddings };
};

describe("an input that is too long is truncated only if the client allows it", () => {
  const words = [
    ["cohere", "embed-v4.0", "truncate", "NONE", "END"],
    ["voyage", "voyage-3.5", "truncation", false, true],
    ["ollama", "all-minilm", "truncate", false, true],
    ["tei", "BAAI/bge-m3", "truncate", false, true],
    ["huggingface", "BAAI/bge-m3", "truncate", false, true],
    ["cloudflare", "@cf/baai/bge-m3", "truncate_inputs", false, true],
  ] as const;
  for (const [kind, model, field, whole, cut] of words) {
    const sentFields = (extraFields: ExtraFields): ExtraFields => {
      const target = targetOf(kind, model, { options: { accountId: "a1" } });
      const { body } = adapterOf(kind).embeddings.toUpstream(queryWith(extraFields), target);
      return JSON.parse(String(body));
    };
    test(kind, () => {
      expect(sentFields({})[field]).toBe(whole);
      expect(sentFields({ truncate: false })[field]).toBe(whole);
      expect(sentFields({ truncate: true })[field]).toBe(cut);
      // Some clients use another vendor's name for the field.
      expect(sentFields({ truncation: true })[field]).toBe(cut);
    });
  }

  test("a vendor's own task type is passed on", () => {
    const target = targetOf("cohere", "embed-v4.0");
    const { body } = adapterOf("cohere").embeddings.toUpstream(
      queryWith({ truncate: "START" }),
      target,
    );
    expect(JSON.parse(String(body)).truncate).toBe("START");
  });
});

test("a vector for each token is refused, not averaged", async () => {
  const target = targetOf("huggingface", "bert-base-uncased");
  const perToken = "[[[0.1,0.2],[0.3,0.4],[0.5,0.6]]]";
  const { embeddings } = adapterOf("huggingface");
  const error = await errorKindOf(async () =>
    embeddings.fromUpstream(upstreamResponseOf(perToken), queryWith(), target),
  );
  expect(error?.kind).toBe("upstream_invalid");
  expect(error?.message).toContain("several vectors for one input");
});

test("an Ollama without the model returns an error with the remedy", async () => {
  const target = targetOf("ollama", "all-minilm");
  const response = upstreamResponseOf('{"error":"model \'all-minilm\' not found"}', {
    status: 404,
  });
  const error = await adapterOf("ollama").readError(response, { target, model: "public-model" });
  expect(error.kind).toBe("model_not_found");
  expect(error.message).toContain("Ask the operator of this gateway to pull it");
  expect(error.message).not.toContain("all-minilm");
  expect(error.details.logDetail).toBe("ollama pull all-minilm");
});

test("a request that was too large is distinguished from an invalid request", async () => {
  const read = (kind: string, status: number, body: object) =>
    adapterOf(kind).readError(upstreamResponseOf(JSON.stringify(body), { status }), {
      target: targetOf(kind, "m"),
      model: "public-model",
    });
  const voyage = { detail: "The max allowed tokens per submitted batch is 120000." };
  expect((await read("voyage", 400, voyage)).kind).toBe("max_tokens_per_request");
  const tei = { error: "batch size 33 > maximum allowed batch size 32", error_type: "Validation" };
  expect((await read("tei", 422, tei)).definition.status).toBe(413);
});

test("SAP gets each task type that its orchestration service knows", () => {
  const { embeddings } = adapterOf("sap");
  const target = targetOf("sap", "text-embedding-3-small");
  const sent = (["query", "document", "classification", "clustering"] as const).map((meaning) => {
    const taskType = { field: "input_type", given: meaning, meaning } as const;
    const { body } = embeddings.toUpstream({ ...queryWith(), taskType }, target);
    return (JSON.parse(body as string) as { input: { type: string } }).input.type;
  });
  expect(sent).toEqual(["query", "document", "classification", "clustering"]);
});

test("configured prompts are the values of task types", () => {
  const options = { prompts: { query: "query", document: "passage" } };
  const target = targetOf("tei", "intfloat/e5", { options });
  expect(adapterOf("tei").embeddings.capabilities(target).taskTypes).toEqual({
    field: "prompt_name",
    values: options.prompts,
  });
});

test("the family of an unknown Bedrock model is not guessed", async () => {
  const { embeddings } = adapterOf("bedrock");
  const target = targetOf("bedrock", "arn:aws:bedrock:eu-west-1:1:application-inference-profile/x");
  const error = await errorKindOf(async () => embeddings.toUpstream(queryWith(), target));
  expect(error?.message).toContain("`family`");
  const named = { ...target, upstream: { ...target.upstream, options: { family: "cohere" } } };
  expect(embeddings.toUpstream(queryWith(), named).body).toContain("input_type");
});

test("text-embedding-v3 of DashScope gets the lengths of the page and of the SDK, which disagree", () => {
  const { dimensions } = adapterOf("dashscope").embeddings.capabilities(
    targetOf("dashscope", "text-embedding-v3"),
  );
  expect(dimensions).toEqual([64, 128, 256, 512, 768, 1024]);
});
