/** Models: the entries of vexel.yaml, and the form of the console. Prices are in `prices.ts`. */
import { z } from "zod";
import { batchExecutions, policyNames } from "../admin/constants.ts";
import { schemaText } from "../messages/schema-messages.ts";
import { parameters } from "./keys.ts";
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
    .regex(/^[1-9]\d{0,5}[mhd]$/, schemaText("duration_format"))
    .refine((text) => durationMs(text) <= maxMs, schemaText("duration_max")),
});

export const maxTargets = 1000;
/** The most models of a gateway: lists of all models are one response. */
export const maxModels = 10_000;
/** Those of the file and of the store. The built-in ones, and those of the environment, are fewer than the rest. */
export const maxConfiguredModels = 9000;

export const dimensions = z.int().min(1).max(65_536);

/** Members of the models of both kinds. */
export const modelMembers = {
  id,
  /** Timeout of a whole request, in seconds. If absent, the setting applies. */
  timeout: z.number().min(1).max(86_400).optional(),
  targets: z.array(z.strictObject(targetMembers)).min(1).max(maxTargets),
  description: z.string().max(2000).optional(),
  /** How one of several targets of a tier is selected. */
  policy: z.enum(policyNames).optional(),
  limits: limits.optional(),
  /** If absent, nothing is stored. */
  storeContent: storeContent.optional(),
  /** Whether responses have the header `vexel-cost`. */
  showCost: z.boolean().optional(),
};

export const embeddingMembers = {
  dimensions: dimensions.optional(),
  /** The targets name different models, and the author declares their vectors to be comparable. */
  sameSpace: z.boolean().optional(),
  /**
   * The vector of an input depends on the other inputs of its request. If absent, derived from the names of the
   * targets.
   */
  contextual: z.boolean().optional(),
  /** Whether the embedding cache is used. */
  cache: z.boolean().default(true),
  /** Whether small requests may be batched (micro-batching). */
  batch: z.boolean().default(true),
  /** Where the lines of its batches run. If absent, now. */
  batches: z.enum(batchExecutions).optional(),
  /** Token arrays. `decode`: to text; `refuse`; `pass`: unchanged, to targets that support them. */
  tokenArrays: z.enum(["decode", "refuse", "pass"]).default("decode"),
};

export const imageTargetMembers = {
  ...targetMembers,
  /** OpenAI's Images API, or the image tool of its Responses API. */
  surface: z.enum(["images", "responses"]).default("images"),
  /** The language model that calls the image tool. */
  via: id.optional(),
};

export const moderationMembers = {
  upstream: id,
  model: id.default("omni-moderation-latest"),
  /** If the moderation upstream fails: refuse the request, or generate the image without the check. */
  onFailure: z.enum(["refuse", "allow"]).default("refuse"),
  /** Seconds that the moderation upstream may take, unless half of the timeout of the image model is shorter. */
  timeout: z.number().min(1).max(86_400).default(10),
};

export const imageMembers = {
  parameters: parameters.optional(),
  /** Whether a request continues after its client disconnects. */
  onDisconnect: z.enum(["finish", "cancel"]).optional(),
  /** Retries on another target even if the failed one may have billed the image. */
  retryPaid: z.boolean().optional(),
  maxImages: z.int().min(1).max(10).default(10),
};
