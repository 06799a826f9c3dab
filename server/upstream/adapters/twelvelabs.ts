/** TwelveLabs: Marengo embeds one text, one image or both per request, into the space of its videos. */
import type { EmbeddingsAdapter, Vendor } from "../adapter.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingsQuery,
  EmbeddingsResponse,
  ExtraFields,
  Target,
} from "../contract.ts";
import { imagesWithText } from "../mixed-input.ts";
import { FileContent, headersOf, jsonRequestFor, type WireHeaders } from "./wire/build-request.ts";
import { commonImageTypes } from "./wire/image-parts.ts";
import { isCount, listIn, memberOf, objectOf } from "./wire/members.ts";
import { textsOf, vectorIn } from "./wire/native-embeddings.ts";
import { nativeErrorReader } from "./wire/native-errors.ts";
import { checkTruncated } from "./wire/truncated.ts";
import { truncation } from "./wire/truncation.ts";

// twelvelabs 1.3.6, environment.py.
const baseUrl = "https://api.twelvelabs.io/v1.3";

const authHeaders = (upstream: Target["upstream"]): WireHeaders =>
  headersOf(upstream, (key) => ({ "x-api-key": key }));

/** Marengo 3.0 has an input type for texts, one vector length, and no option for truncation. */
const isMarengo3 = ({ model }: Target): boolean => model === "marengo3.0";

// twelvelabs 1.3.6, embed/v_2/raw_client.py. Which lengths Marengo 3.5 supports is not documented.
const capabilities = (target: Target): EmbeddingCapabilities => ({
  maxItems: 1,
  base64: false,
  tokens: false,
  taskTypes: "indifferent",
  // MediaSource: "The decoded file can be up to 36 MB".
  images: { types: commonImageTypes, fuses: "pair", maxBytes: 36_000_000 },
  ...(!isMarengo3(target) && { dimensions: "any" }),
});

/** Marengo 3.0 has a type for each kind of input, Marengo 3.5 has one for all. */
function inputOf({ input, ...query }: EmbeddingsQuery, target: Target): ExtraFields {
  const [entry] = input.kind === "mixed" ? imagesWithText(input) : [];
  const input_text = entry ? entry.text : textsOf({ input, ...query })[0];
  const source = entry && { base64_string: new FileContent(entry.image.file) };
  if (!isMarengo3(target)) {
    const media_sources = source && [{ media_type: "image", ...source }];
    return { input_type: "multi_input", multi_input: { input_text, media_sources } };
  }
  if (!source) return { input_type: "text", text: { input_text } };
  return input_text === undefined
    ? { input_type: "image", image: { media_source: source } }
    : { input_type: "text_image", text_image: { input_text, media_source: source } };
}

function body(query: EmbeddingsQuery, target: Target): ExtraFields {
  const input = { model_name: target.model, ...inputOf(query, target) };
  if (isMarengo3(target)) return { ...query.extraFields, ...input };
  const { mayTruncate, extraFields } = truncation(query);
  return {
    auto_truncate: mayTruncate,
    ...extraFields,
    ...input,
    embedding_dimension: query.dimensions,
  };
}

/** The tokens by type of content: `{text: 7, image: 256}`. Marengo 3.0 does not report them. */
function usageIn(usage: unknown): Pick<EmbeddingsResponse, "usage"> {
  const byType = objectOf(memberOf(usage, "input_tokens"));
  const counts = Object.values(byType);
  if (counts.length === 0 || !counts.every(isCount)) return {};
  const inputTokens = counts.reduce((sum, count) => sum + count, 0);
  const { image } = byType;
  return { usage: { inputTokens, ...(isCount(image) && { imageTokens: image }) } };
}

const embeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream: (query, target) =>
    jsonRequestFor(query)(
      `${target.upstream.baseUrl ?? baseUrl}/embed-v2`,
      authHeaders(target.upstream),
      body(query, target),
    ),
  fromUpstream: async (response, query) => {
    const read = await response.jsonWithVectors();
    const usage = memberOf(read, "usage");
    return {
      vectors: listIn(read, "data").map((entry) => vectorIn(entry, "embedding")),
      ...usageIn(usage),
      ...checkTruncated(query, [memberOf(usage, "truncated")]),
    };
  },
};

export const twelvelabs: Vendor = {
  kind: { name: "twelvelabs", baseUrl, needs: ["apiKey"], serves: "embedding", options: {} },
  adapter: {
    embeddings,
    // It lists no models. The list of indexes is free.
    probe: (upstream) => ({
      url: `${upstream.baseUrl ?? baseUrl}/indexes?page_limit=1`,
      headers: authHeaders(upstream),
    }),
    readError: nativeErrorReader({
      // docs.twelvelabs.io/api-reference/error-codes: `parameter_invalid` names the parameter.
      classify: ({ status, message }) =>
        status === 400 && /\bmodel_name\b/.test(message) && "no such model",
    }),
  },
};
