/** The audit log. */
import { z } from "zod";
import type { Infer } from "./infer.ts";

export const auditEntrySchema = z
  .strictObject({
    object: z.literal("audit_entry"),
    id: z.string(),
    at: z.string(),
    actor: z.string().describe("A user's name, or `admin token`."),
    action: z.string().describe("Such as `upstream.updated` or `session.created`."),
    subject: z.string().nullable(),
    before: z.unknown().describe("Secrets are masked in both."),
    after: z.unknown(),
    address: z.string().nullable(),
  })
  .meta({ id: "AuditEntry" });
export type AuditEntry = Infer<typeof auditEntrySchema>;
