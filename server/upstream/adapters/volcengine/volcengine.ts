/** Volcengine's Ark and BytePlus's ModelArk: OpenAI-compatible embeddings, native Seedream images. */
import { GatewayError } from "../../../lib/gateway-error.ts";
import type {
  Adapter,
  EmbeddingsAdapter,
  ImageAdapter,
  ReadImages,
  UpstreamRequest,
  Vendor,
} from "../../adapter.ts";
import type {
  EditQuery,
  ExtraFields,
  GenerationQuery,
  ImageResult,
  ImageUsage,
  Target,
} from "../../contract.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { fromDialect, textOnlyCapabilities } from "../openai/dialect.ts";
import { isUsage } from "../openai/images.ts";
import { asDataUrl, bearer, imageJsonRequest } from "../wire/build-request.ts";
import { readDocument } from "../wire/document.ts";
import { createdIn, imageIn, isEventStream } from "../wire/image-list.ts";
import { codeIn, listIn, memberOf, objectOf, textIn } from "../wire/members.ts";
import { type ErrorMeaning, nativeErrorReader, toMappedError } from "../wire/native-errors.ts";
import { readOpenaiError } from "../wire/openai-errors.ts";
import { readSeedreamEvents } from "./events.ts";
import { seedreamImageCapabilities } from "./families.ts";
import { isVision, visionEmbeddings } from "./vision-embeddings.ts";

const baseUrl = "https://ark.cn-beijing.volces.com/api/v3";

/** Generations and edits have the same URL. */
function buildRequest(
  { extraFields, options, prompt, stream }: GenerationQuery,
  target: Target,
  image: ExtraFields,
): UpstreamRequest {
  const { upstream, model } = target;
  const { size, background, output_format, response_format } = options;
  const streams = stream && seedreamImageCapabilities(model, "generations").streams;
  return imageJsonRequest(`${upstream.baseUrl ?? baseUrl}/images/generations`, bearer(upstream), {
    ...extraFields,
    model,
    prompt,
    ...image,
    size: size === "auto" ? undefined : size,
    background,
    // Ark refuses transparency in any other format, and its default is jpeg.
    output_format: background === "transparent" ? "png" : output_format,
    // Links cost a download and are valid for a day; an event must contain the image itself.
    response_format: streams ? "b64_json" : (response_format ?? "b64_json"),
    ...(streams && { stream: true }),
  });
}

const read: ReadImages = async (response, imageRequest) => {
  const toError = (error: unknown): GatewayError => {
    const meaning = meaningOf(codeIn(error, "code"));
    return toMappedError(meaning, textIn(error, "message"), imageRequest, response.headers);
  };
  if (isEventStream(response)) {
    const events = readSeedreamEvents(response.chunks(), imageRequest.temp, { usageIn, toError });
    return { kind: "stream", events };
  }
  const body = await readDocument(response, imageRequest.temp);
  const failure = memberOf(body, "error");
  if (failure) throw toError(failure);
  const entries = listIn(body, "data");
  const results = entries.flatMap(toResult);
  // A refused image has an error in place of the image.
  const withheld = entries.map((entry) => memberOf(entry, "error")).find(Boolean);
  if (results.length === 0) {
    throw withheld ? toError(withheld) : invalidResponse("it has no image");
  }
  return { kind: "buffered", results, ...createdIn(body), metadata: {}, ...usageIn(body) };
};

const generations: ImageAdapter = {
  toUpstream: (query, target) => buildRequest(query, target, {}),
  fromUpstream: read,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) => {
    const images = query.images.map(asDataUrl);
    return buildRequest(query, target, { image: images.length === 1 ? images[0] : images });
  },
  fromUpstream: read,
};

function toResult(entry: unknown): ImageResult[] {
  const image = imageIn(entry);
  if (!image) return [];
  // Layers of an image have their position; size and format are read from the image itself.
  const { b64_json: _, url: __, size: ___, output_format: ____, ...extraFields } = objectOf(entry);
  return [{ image, extraFields }];
}

/**
 * The page on `total_tokens`: "This value is the same as output_tokens as input tokens are currently not calculated".
 * Uncounted input tokens are unknown, and so is the total, unless the response reports them.
 */
function usageIn(response: unknown): { readonly usage?: ImageUsage } {
  const usage = memberOf(response, "usage");
  if (!isUsage(usage)) return {};
  const { total_tokens, input_tokens, output_tokens } = usage;
  return { usage: { total_tokens, input_tokens, output_tokens } };
}

// docs.byteplus.com/en/docs/ModelArk/1299023.
function meaningOf(code: string): ErrorMeaning | undefined {
  if (/Sensitive(Content|Text|Image)Detected|RiskDetection/.test(code)) return "moderated";
  if (/^(InvalidEndpoint.*\.NotFound|ModelNotOpen|UnsupportedModel)$/.test(code)) {
    return "no such model";
  }
  if (/^(AccountOverdueError|SetLimitExceeded|QuotaExceeded)$/.test(code)) return "no credit";
  if (code === "ServerOverloaded") return "busy";
  if (/^(InvalidParameter|MissingParameter|BadRequest)/.test(code)) return "rejected";
  return undefined;
}

/** The error message names the parameter; a separate field does so only sometimes. */
const readErrorWithParam: Adapter["readError"] = async (response, context) => {
  const error = await readOpenaiError(response, context);
  const [, param] = /\bparameter `([\w.]+)`/.exec(error.message) ?? [];
  return param === undefined || error.details.param !== undefined
    ? error
    : new GatewayError(error.kind, error.message, { ...error.details, param });
};

const readError = nativeErrorReader({
  classify: ({ body }) => {
    const meaning = meaningOf(codeIn(memberOf(body, "error"), "code"));
    return meaning !== "rejected" && meaning;
  },
  fallback: readErrorWithParam,
});

const dialect: Vendor = fromDialect(
  // volcengine.com/docs/82379/1302003. 256: the same page, as it was in 2025.
  { name: "volcengine", baseUrl, embeddings: { ...textOnlyCapabilities, maxItems: 256 } },
  {
    generations,
    edits,
    imageCapabilities: ({ model }, operation) => seedreamImageCapabilities(model, operation),
    readError,
  },
);

const vision = visionEmbeddings(baseUrl);

function embeddingsFor(texts: EmbeddingsAdapter): EmbeddingsAdapter {
  const adapterOf = ({ model }: Target): EmbeddingsAdapter => (isVision(model) ? vision : texts);
  return {
    capabilities: (target) => adapterOf(target).capabilities(target),
    toUpstream: (query, target) => adapterOf(target).toUpstream(query, target),
    fromUpstream: (response, query, target) =>
      adapterOf(target).fromUpstream(response, query, target),
  };
}

const { embeddings: textEmbeddings } = dialect.adapter;

export const volcengine: Vendor = {
  ...dialect,
  adapter: {
    ...dialect.adapter,
    ...(textEmbeddings && { embeddings: embeddingsFor(textEmbeddings) }),
  },
};
