/** Statistics of the gateway's own parts, since its start. */
import { z } from "zod";
import type { Infer } from "./infer.ts";

export const statisticsSchema = z
  .strictObject({
    object: z.literal("statistics"),
    started_at: z.string(),
    requests_in_flight: z.number(),
    requests_queued: z.number(),
    cache: z
      .strictObject({
        enabled: z.boolean(),
        entries: z.number(),
        bytes: z.number(),
        max_bytes: z.number(),
      })
      .describe("The embedding cache."),
    batching: z
      .strictObject({
        enabled: z.boolean(),
        batches: z.number(),
        batched_requests: z.number(),
      })
      .describe("Micro-batching of embeddings requests."),
    live_viewers: z.number(),
  })
  .meta({
    id: "Statistics",
    description: "Statistics of the gateway's own parts, since its start.",
  });
export type Statistics = Infer<typeof statisticsSchema>;
