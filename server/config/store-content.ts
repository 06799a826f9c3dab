/** `storeContent` of a model: whether, and for how long, prompts, inputs, vectors and images are stored. */
import { z } from "zod";

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const maxMs = 30 * unitMs.d;

export const storeContent = z.strictObject({
  for: z
    .string()
    .regex(
      /^[1-9]\d{0,5}[mhd]$/,
      "must be a number of minutes, hours or days, such as 30m, 24h or 7d",
    )
    .refine((text) => durationMs(text) <= maxMs, "must be at most 30d"),
});

export const storeContentKeys: readonly string[] = Object.keys(storeContent.shape);

const durationMs = (text: string): number =>
  Number(text.slice(0, -1)) * unitMs[text.at(-1) as keyof typeof unitMs];

/** Without `storeContent`, the member is absent. */
export const storedContentOf = (
  given: z.output<typeof storeContent> | undefined,
): { readonly storeContentMs?: number } => (given ? { storeContentMs: durationMs(given.for) } : {});
