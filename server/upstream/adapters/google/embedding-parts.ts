/** The parts of gemini-embedding-2: texts and images of one content, which the model fuses into one vector. */
import type {
  EmbeddingsQuery,
  EmbeddingsResponse,
  ExtraFields,
  ImageInputCapabilities,
} from "../../contract.ts";
import { type LoadedPart, loadedEntries } from "../../mixed-input.ts";
import { FileContent } from "../wire/build-request.ts";
import { commonImageTypes } from "../wire/image-parts.ts";
import { isCount, memberOf } from "../wire/members.ts";
import { textsOf, usageOf } from "../wire/native-embeddings.ts";

/**
 * google-genai 3.3.0: all parts of one content give one vector. vercel.com/ai-gateway/models/gemini-embedding-2 (read on
 * 2026-11-18), after Google: "images (up to six per request, PNG and JPEG)".
 */
export const geminiImages: ImageInputCapabilities = {
  types: commonImageTypes,
  fuses: "sequence",
  maxPerEntry: 6,
  maxPerRequest: 6,
};

/** The task prefix belongs to the text: it precedes the first one, and an image alone has none. */
export function geminiParts(parts: readonly LoadedPart[], prefix = ""): readonly ExtraFields[] {
  const firstText = parts.findIndex(({ kind }) => kind === "text");
  return parts.map((part, at) => {
    if (part.kind === "text") return { text: at === firstText ? prefix + part.text : part.text };
    const { file } = part.image;
    return { inlineData: { mimeType: file.type, data: new FileContent(file) } };
  });
}

export const geminiEntries = (query: EmbeddingsQuery): readonly (readonly LoadedPart[])[] =>
  query.input.kind === "mixed"
    ? loadedEntries(query.input)
    : textsOf(query).map((text) => [{ kind: "text", text }]);

/** `promptTokensDetails: [{modality: "IMAGE", tokenCount}]`. Tokens of other modalities are texts. */
export function geminiUsage(metadata: unknown): Pick<EmbeddingsResponse, "usage"> {
  const { usage } = usageOf(memberOf(metadata, "promptTokenCount"));
  const details = memberOf(metadata, "promptTokensDetails");
  if (!usage || !Array.isArray(details)) return usage ? { usage } : {};
  const images = details.find((one) => memberOf(one, "modality") === "IMAGE");
  const imageTokens = memberOf(images, "tokenCount");
  return {
    usage: {
      ...usage,
      ...(isCount(imageTokens) && imageTokens <= usage.inputTokens && { imageTokens }),
    },
  };
}
