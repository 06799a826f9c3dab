/** The `usage` of image responses and events, complete as OpenAI's types require it: reported, or estimated. */
import { wireTokens } from "../upstream/catalog/images/image-tokens.ts";
import type {
  EditQuery,
  GenerationQuery,
  ImageMetadata,
  ImageUsage,
  Target,
} from "../upstream/contract.ts";
import { countTokens } from "../upstream/count-tokens.ts";

export interface UsageEstimateInput {
  readonly query: GenerationQuery | EditQuery;
  readonly target: Target | undefined;
  /** Metadata of the generated images. */
  readonly metadata: ImageMetadata;
  readonly images: number;
}

/**
 * An estimate, for `usage` on the wire only: the prompt's tokens, and image tokens by OpenAI's table for the model, or
 * for the nearest one that has a table.
 */
export async function estimateImageUsage(input: UsageEstimateInput): Promise<ImageUsage> {
  const { query, target, metadata, images } = input;
  const { size, quality, input_fidelity: fidelity } = query.options;
  const tokens = wireTokens(target?.model ?? query.model, {
    size: explicitSize(metadata.size) ?? explicitSize(size),
    quality: explicitValue(metadata.quality) ?? explicitValue(quality),
    fidelity,
  });
  const text = images * (await countTokens([query.prompt]));
  const imageInput = images * countSources(query) * tokens.in;
  const output = images * tokens.out;
  return {
    total_tokens: text + imageInput + output,
    input_tokens: text + imageInput,
    output_tokens: output,
    input_tokens_details: { text_tokens: text, image_tokens: imageInput },
  };
}

/** Adds `input_tokens_details`, which OpenAI's types require: input tokens that are not text are image tokens. */
export async function withInputDetails(
  usage: ImageUsage,
  query: GenerationQuery | EditQuery,
): Promise<ImageUsage> {
  if (hasInputDetails(usage)) return usage;
  const { input_tokens: input, input_tokens_details: details } = usage;
  const text = countSources(query) > 0 ? Math.min(input, await countTokens([query.prompt])) : input;
  return {
    ...usage,
    input_tokens_details: { ...details, text_tokens: text, image_tokens: input - text },
  };
}

const hasInputDetails = ({ input_tokens_details: details }: ImageUsage): boolean =>
  Number.isSafeInteger(details?.text_tokens) && Number.isSafeInteger(details?.image_tokens);

const countSources = (query: GenerationQuery | EditQuery): number =>
  "images" in query ? query.images.length + (query.mask ? 1 : 0) : 0;

const explicitValue = (value: string | undefined): string | undefined =>
  value === "auto" ? undefined : value;

const explicitSize = (size: string | undefined): string | undefined =>
  size !== undefined && /^\d{1,5}x\d{1,5}$/.test(size) ? size : undefined;
