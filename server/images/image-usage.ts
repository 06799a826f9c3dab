/**
 * Image usage: adds up the usage of several images, splits one usage among its images, and estimates a usage that
 * OpenAI's types require and the upstream did not report.
 */
import { apportion } from "../lib/apportion.ts";
import { wireTokens } from "../upstream/catalog/images/image-tokens.ts";
import type {
  EditQuery,
  ExtraFields,
  GenerationQuery,
  ImageMetadata,
  ImageUsage,
  Target,
} from "../upstream/contract.ts";
import { countSources } from "../upstream/edit-sources.ts";
import { countTokens } from "../upstream/tokenizers.ts";

/** Adds two usages, with the details if both have the same fields. */
export const sumUsage = (
  before: ImageUsage | undefined,
  next: ImageUsage | undefined,
): ImageUsage | undefined =>
  before && next
    ? {
        total_tokens: before.total_tokens + next.total_tokens,
        input_tokens: before.input_tokens + next.input_tokens,
        output_tokens: before.output_tokens + next.output_tokens,
        ...sumDetails("input_tokens_details", before, next),
        ...sumDetails("output_tokens_details", before, next),
      }
    : (next ?? before);

function sumDetails(
  name: "input_tokens_details" | "output_tokens_details",
  { [name]: before }: ImageUsage,
  { [name]: next }: ImageUsage,
): Pick<ImageUsage, typeof name> {
  if (!before || !next || Object.keys(before).length !== Object.keys(next).length) return {};
  const sums: Record<string, number> = {};
  for (const [kind, count] of Object.entries(before)) {
    const other = next[kind];
    if (typeof count !== "number" || typeof other !== "number") return {};
    sums[kind] = count + other;
  }
  return { [name]: sums satisfies ExtraFields };
}

/** Splits usage into equal shares, which add up to exactly the total. */
export function splitUsage(usage: ImageUsage, images: number): ImageUsage[] {
  const weights = new Array<number>(images).fill(1);
  const members: [string, number[] | ExtraFields[]][] = [];
  for (const [name, value] of Object.entries(usage)) {
    if (typeof value === "number") members.push([name, apportion(value, weights)]);
    else if (typeof value === "object" && value !== null) {
      members.push([name, splitDetails(value as ExtraFields, weights)]);
    }
  }
  return weights.map((_, at) => {
    const share = Object.fromEntries(members.map(([name, parts]) => [name, parts[at]]));
    return share as unknown as ImageUsage;
  });
}

/** Only numeric details can be split. */
function splitDetails(details: ExtraFields, weights: readonly number[]): ExtraFields[] {
  const counts = Object.entries(details).flatMap(([name, count]) =>
    Number.isSafeInteger(count) && (count as number) >= 0
      ? [[name, apportion(count as number, weights)] as const]
      : [],
  );
  return weights.map((_, at) =>
    Object.fromEntries(counts.map(([name, parts]) => [name, parts[at]])),
  );
}

interface UsageEstimateInput {
  readonly query: GenerationQuery | EditQuery;
  readonly target: Target | undefined;
  /** Metadata of the generated images. */
  readonly metadata: ImageMetadata;
  readonly images: number;
}

/**
 * An estimate, for `usage` on the wire only: the prompt's tokens, and image tokens by OpenAI's table for the model, or
 * for the most similar model that has a table.
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

const explicitValue = (value: string | undefined): string | undefined =>
  value === "auto" ? undefined : value;

const explicitSize = (size: string | undefined): string | undefined =>
  size !== undefined && /^\d{1,5}x\d{1,5}$/.test(size) ? size : undefined;
