/** Reads the report of another replica, as `replica-reports.ts` publishes it. Imported when the first one is read. */
import { z } from "zod";
import { shownTargetSchema } from "../../../contract/admin/models.ts";
import { shownReplicaSchema } from "../../../contract/admin/replicas.ts";
import { statisticsSchema } from "../../../contract/admin/statistics.ts";

const reportSchema = z.object({
  replica: shownReplicaSchema,
  statistics: statisticsSchema.omit({ object: true }),
  targets: z.array(shownTargetSchema),
});

/** Empty: the replica has another version, whose report has another form. */
export function readReport(text: string): z.infer<typeof reportSchema>[] {
  const { success, data } = reportSchema.safeParse(JSON.parse(text));
  return success ? [data] : [];
}
