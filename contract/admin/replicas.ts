/** The processes that serve: replicas, and the workers of one gateway. */
import { z } from "zod";
import type { Infer } from "./infer.ts";

const availability = z.enum(["available", "unavailable"]).nullable();

export const shownReplicaSchema = z
  .strictObject({
    object: z.literal("replica"),
    id: z.string().describe("As in the header `vexel-replica`. It changes with each start."),
    host: z.string().describe("The name of its machine or container."),
    version: z.string(),
    started_at: z.string(),
    ready: z.boolean().describe("It accepts requests, as in `GET /readyz`."),
    requests_in_flight: z.number(),
    requests_queued: z.number(),
    ledger_backlog: z
      .number()
      .nullable()
      .describe("Ledger rows that the database does not have yet. `null`: there is no database."),
    database: availability,
    redis: availability,
    object_store: availability,
    unhealthy_targets: z
      .array(
        z.strictObject({
          upstream: z.string(),
          model: z.string(),
          state: z.enum(["cooling", "half_open", "ejected"]),
        }),
      )
      .describe("The targets that this replica uses less or not at all. Others may differ."),
  })
  .meta({ id: "ShownReplica" });
export type ShownReplica = Infer<typeof shownReplicaSchema>;
