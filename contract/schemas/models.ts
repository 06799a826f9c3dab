/** Members of models that the console's form shows. vexel.yaml has more. */
import { z } from "zod";
import { policyNames } from "../admin/constants.ts";
import { limits } from "./limits.ts";
import { id } from "./names.ts";

export const targetMembers = {
  upstream: id,
  model: id,
  /** Lower tiers first; the next tier only while no target of the previous one is available. */
  tier: z.int().min(0).max(1000).optional(),
  /** Share of the requests, compared with the other targets of its tier. */
  weight: z.number().positive().max(1_000_000).optional(),
  limits: limits.optional(),
};

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const maxMs = 30 * unitMs.d;

export const durationMs = (text: string): number =>
  Number(text.slice(0, -1)) * unitMs[text.at(-1) as keyof typeof unitMs];

/** Whether, and for how long, prompts, inputs, vectors and images are stored. */
export const storeContent = z.strictObject({
  for: z
    .string()
    .regex(
      /^[1-9]\d{0,5}[mhd]$/,
      "must be a number of minutes, hours or days, such as 30m, 24h or 7d",
    )
    .refine((text) => durationMs(text) <= maxMs, "must be at most 30d"),
});

export const maxTargets = 1000;

export const dimensions = z.int().min(1).max(65_536);

export const modelMembers = {
  id,
  /** Timeout of a whole request, in seconds. Absent: the setting applies. */
  timeout: z.number().min(1).max(86_400).optional(),
  targets: z.array(z.strictObject(targetMembers)).min(1).max(maxTargets),
  description: z.string().max(2000).optional(),
  /** How one of several targets of a tier is selected. */
  policy: z.enum(policyNames).optional(),
  limits: limits.optional(),
  /** Absent: nothing is stored. */
  storeContent: storeContent.optional(),
};
