/** Images of an embeddings request in the forms that several vendors share. */
import type {
  EmbeddingsResponse,
  ExtraFields,
  ImageInputCapabilities,
  MixedInput,
} from "../../contract.ts";
import { type LoadedPart, loadedEntries } from "../../mixed-input.ts";
import { dataUrlOf } from "./build-request.ts";
import { isCount } from "./members.ts";

/** OpenAI's parts of a chat message, which Cohere, OpenRouter and vLLM use for embeddings. */
export const chatPart = (part: LoadedPart): ExtraFields =>
  part.kind === "text"
    ? { type: "text", text: part.text }
    : { type: "image_url", image_url: { url: dataUrlOf(part.image.file) } };

/** `{content: [...]}` for each entry. */
export const contentEntries = (
  input: MixedInput,
  toPart: (part: LoadedPart) => ExtraFields = chatPart,
): readonly ExtraFields[] => loadedEntries(input).map((parts) => ({ content: parts.map(toPart) }));

/** The formats that nearly every vendor with images reads. */
export const commonImageTypes: ImageInputCapabilities["types"] = ["image/png", "image/jpeg"];
export const webImageTypes: ImageInputCapabilities["types"] = [
  ...commonImageTypes,
  "image/webp",
  "image/gif",
];

/** Usage of a vendor that reports the tokens of texts and of images apart. A kind of input that is absent has none. */
export function imageUsageOf(
  textTokens: unknown,
  imageTokens: unknown,
): Pick<EmbeddingsResponse, "usage"> {
  if (!isCount(imageTokens)) return {};
  const texts = isCount(textTokens) ? textTokens : 0;
  return { usage: { inputTokens: texts + imageTokens, imageTokens } };
}
