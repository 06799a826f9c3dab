/**
 * Estimates the tokens of an image where a vendor documents them: for estimates, never for bills. Where the count
 * depends on facts that are not known yet, the estimate is the maximum.
 */

interface ImageTokens {
  /** Output tokens of one image. `size`: WIDTHxHEIGHT, or the vendor's name for it. Undefined if not known. */
  out(size: string | undefined, quality: string | undefined): number | undefined;
  /** Input tokens of one image. */
  readonly in: number;
  /** The same with high input fidelity. */
  readonly inHighFidelity?: number;
  /** Output tokens of each partial image. */
  readonly partialOut?: number;
  /** Output tokens of the text next to an image. */
  readonly textOut?: number;
}

type Tiers = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Without a size or quality the model may choose any, so the largest count is used. */
function largestCount(table: Tiers, size: string | undefined, quality: string | undefined) {
  const rows = quality === undefined ? Object.values(table) : [table[quality] ?? {}];
  const counts = rows.flatMap((row) =>
    size === undefined ? Object.values(row) : (row[size] ?? []),
  );
  return counts.length === 0 ? undefined : Math.max(...counts);
}

const bySize = (square: number, portrait: number, landscape: number) => ({
  "1024x1024": square,
  "1024x1536": portrait,
  "1536x1024": landscape,
});

// developers.openai.com/api/docs/guides/images-vision, as copied on GitHub 2026-09: the shortest side is made 512, "the
// base cost is 65 image tokens, and each tile costs 129"; four tiles are an image that is four times as long as wide.
// "When using high input fidelity […] we add 4160 […] 6240 extra tokens". The image generation guide: "each partial
// image will incur an additional 100 image output tokens".
const openaiInput = {
  in: 65 + 4 * 129,
  inHighFidelity: 65 + 4 * 129 + 6240,
  partialOut: 100,
} as const;

// developers.openai.com/api/docs/guides/image-generation, the table for "models prior to gpt-image-2".
const gptImage1Tiers: Tiers = {
  low: bySize(272, 408, 400),
  medium: bySize(1056, 1584, 1568),
  high: bySize(4160, 6240, 6208),
};

// The guide's prices per image, divided by its price per token: they are higher than in that table.
const gptImage1MiniTiers: Tiers = {
  low: bySize(625, 750, 750),
  medium: bySize(1375, 1875, 1875),
  high: bySize(4500, 6500, 6500),
};

const openai = (table: Tiers): ImageTokens => ({
  ...openaiInput,
  out: (size, quality) => largestCount(table, size, quality),
});

/**
 * The guide has a calculator for gpt-image-2 and no formula. This one is from community.openai.com/t/1382699 (2026-06),
 * and gives the same result as the calculator for each of the nine sizes that were compared (2026-09).
 */
function gptImage2Tokens(size: string, quality: string): number | undefined {
  const steps = { low: 16, medium: 48, high: 96 }[quality];
  const [, width, height] = /^(\d+)x(\d+)$/.exec(size)?.map(Number) ?? [];
  if (steps === undefined || !width || !height) return undefined;
  const [long, short] = [Math.max(width, height), Math.min(width, height)];
  const across = Math.floor((2 * steps * short + long) / (2 * long));
  return Math.ceil((steps * across * (2_000_000 + width * height)) / 4_000_000);
}

const gptImage2: ImageTokens = {
  ...openaiInput,
  // The guide documents only that it always uses high input fidelity.
  in: openaiInput.inHighFidelity,
  // By default, it generates one of the three usual sizes, of which the square has the most tokens.
  out: (size = "1024x1024", quality = "high") => gptImage2Tokens(size, quality),
};

/** Google counts by resolution, whatever the aspect ratio. The default is 1K. */
const google = (
  classes: Readonly<Record<string, number>>,
  more: Omit<ImageTokens, "out">,
): ImageTokens => ({ ...more, out: (size = "1K") => classes[size] });

/** discuss.ai.google.dev/t/121299, a Google employee: "typically generates between 700 and 900 extra tokens". */
const thinking = { textOut: 900 } as const;

/** For gemini-2.5-flash-image, which generates 1K whatever size is requested. */
const always1K = { "1K": 1290, "2K": 1290, "4K": 1290 };

/** By the vendor's model name. Later models are not documented yet. */
const known: readonly (readonly [RegExp, ImageTokens])[] = [
  [/^gpt-image-1(\.5(-2025-12-16)?)?$/i, openai(gptImage1Tiers)],
  [/^gpt-image-1-mini$/i, openai(gptImage1MiniTiers)],
  [/^gpt-image-2(-2026-04-21)?$/i, gptImage2],
  // ai.google.dev/gemini-api/docs/pricing, as copied on GitHub 2026-09: the output, and for the second model the input.
  // The input of the third is from cloud.google.com's list; for the first, the output count is assumed as the maximum
  // of the input.
  [/(^|\/)gemini-2\.5-flash-image(-preview)?$/, google(always1K, { in: 1290 })],
  [
    /(^|\/)(gemini-3-pro-image(-preview)?|nano-banana-pro-preview)$/,
    google({ "1K": 1120, "2K": 1120, "4K": 2000 }, { in: 560, ...thinking }),
  ],
  [
    /(^|\/)gemini-3\.1-flash-image(-preview)?$/,
    google({ "512": 747, "1K": 1120, "2K": 1680, "4K": 2520 }, { in: 1120, ...thinking }),
  ],
  // litellm 1.108.4, 2026-11-15: $0.0336 for a 1K image at $30 per million tokens, $0.00168 for an input image at $1.5.
  // 2K and 4K are not listed: as gemini-3.1-flash-image.
  [
    /(^|\/)gemini-nano-banana-2\.1$/,
    google({ "1K": 1120, "2K": 1680, "4K": 2520 }, { in: 1120, ...thinking }),
  ],
];

export const estimateImageTokens = (model: string): ImageTokens | undefined =>
  known.find(([name]) => name.test(model))?.[1];

/** OpenAI's older and newer names for the tiers of a quality that have token counts. */
const countedTiers: Readonly<Record<string, string>> = {
  low: "low",
  medium: "medium",
  standard: "medium",
  high: "high",
  hd: "high",
  xhigh: "high",
  max: "high",
};

interface WireImage {
  /** WIDTHxHEIGHT. Undefined where it is not known: 1024x1024 is assumed. */
  readonly size: string | undefined;
  /** Undefined where it is not known: medium is assumed. */
  readonly quality: string | undefined;
  readonly fidelity: string | undefined;
}

/** Tokens of one image for `usage` on the wire, if the upstream reports none: the likely count, not the maximum. */
export function wireTokens(
  model: string,
  { size = "1024x1024", quality = "medium", fidelity }: WireImage,
): { readonly in: number; readonly out: number } {
  const tier = countedTiers[quality] ?? "medium";
  const table = estimateImageTokens(model);
  // For a model without a table, or a size that is not in it: gpt-image-2 has a formula for all sizes.
  const out = table?.out(size, tier) ?? gptImage2Tokens(size, tier) ?? 0;
  const source = table ?? openaiInput;
  return { in: fidelity === "high" ? (source.inHighFidelity ?? source.in) : source.in, out };
}

/** For an unknown model: the largest count of all models for that size and quality, or for any. */
export const unknownModelTokens: Required<Omit<ImageTokens, "out">> & {
  out(size: string | undefined, quality: string | undefined): number;
} = {
  in: openaiInput.inHighFidelity,
  inHighFidelity: openaiInput.inHighFidelity,
  partialOut: openaiInput.partialOut,
  ...thinking,
  out: (size, quality) => {
    // Without a known size: the one with the largest count in the calculator for gpt-image-2.
    const large = size !== undefined && gptImage2Tokens(size, "high") ? size : "2048x2048";
    const fine = quality !== undefined && Object.hasOwn(gptImage1Tiers, quality) ? quality : "high";
    const counts = known.map(([, tokens]) => tokens.out(large, fine) ?? 0);
    return Math.max(...counts);
  },
};
