/**
 * Reads the filters and the requests of the live tail that another replica publishes. Imported when the first one is
 * read.
 */
import { z } from "zod";
import { shownRequestSchema } from "../../../contract/admin/requests.ts";
import type { LiveBatch } from "../../../contract/admin.ts";
import type { RequestFilter } from "./request-filter.ts";

const name = z.string().nullable().optional();
const range = z.object({ min: z.number().optional(), max: z.number().optional() }).optional();

/** Each member of a filter: a filter with another one is of another version. */
const members = {
  keyId: z.string().optional(),
  keyIds: z.array(z.string()).optional(),
  project: name,
  projects: z.array(z.string()).optional(),
  exceptProject: z.string().optional(),
  tag: z.string().optional(),
  endUser: z.string().optional(),
  model: name,
  upstream: name,
  targetModel: name,
  failed: z.boolean().optional(),
  refused: z.boolean().optional(),
  error: z.string().optional(),
  status: range,
  latencyMs: range,
  cost: range,
} satisfies Record<keyof RequestFilter, z.ZodType>;
const filterSchema = z.strictObject(members);

const batchSchema = z.object({ data: z.array(shownRequestSchema), skipped: z.number() });

/** Undefined if the replica has another version, whose filter has another form. */
export const readLiveFilter = (text: string): RequestFilter | undefined =>
  filterSchema.safeParse(JSON.parse(text)).data;

/** Empty: the replica has another version, whose requests have another form. */
export function readLiveBatch(text: string): LiveBatch[] {
  const { success, data } = batchSchema.safeParse(JSON.parse(text));
  return success ? [data] : [];
}
