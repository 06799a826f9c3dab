/** /v1/batches: create, list, get and cancel. */
import { z } from "zod";
import { ownerOf } from "../auth/owner.ts";
import type { BatchEndpoint } from "../batches/batches.ts";
import { type Batches, batchDataOf, batchEndpoints, showBatch } from "../batches/batches.ts";
import { bodyWithoutNulls, validate } from "../http/read-body.ts";
import { decodePathSegment, json } from "../http/route.ts";
import type { Handlers } from "../http/routes.ts";
import type { StoredJob } from "../jobs/jobs.ts";
import { maxBytesOfJobs } from "../jobs/jobs.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Caller } from "../request/caller.ts";
import type { IncomingRequest } from "../request/http-types.ts";
import { expiresAfter } from "./files.ts";
import { createSendList, type ListMemory } from "./send-list.ts";
import {
  type AuthenticationOptions,
  createCallerOf,
  pageQuery,
  queryOf,
  showPage,
} from "./stored-requests.ts";

interface BatchHandlerOptions extends AuthenticationOptions, ListMemory {
  readonly batches: Batches;
}

const endpoints = Object.keys(batchEndpoints) as [BatchEndpoint, ...BatchEndpoint[]];

export const createBatchBody = z.strictObject({
  input_file_id: z.string().min(1).describe("A file with the purpose `batch`."),
  endpoint: z.enum(endpoints).describe("The endpoint of all lines."),
  completion_window: z.literal("24h").describe("Lines that have not run until then never run."),
  metadata: z
    .record(z.string(), z.string())
    .optional()
    .describe("Up to 16 pairs, which the batch shows."),
  output_expires_after: expiresAfter.optional(),
});

type BatchHandlers = Pick<Handlers, "createBatch" | "batches" | "batch" | "cancelBatch">;

export function createBatchHandlers(options: BatchHandlerOptions): BatchHandlers {
  const { batches, snapshot } = options;
  const sendList = createSendList(options);
  const callerOf = createCallerOf(options);
  /** The key that reads the batch decides, and not the key that created it. */
  const show = (job: StoredJob, { showCost }: Caller) => {
    const { model } = batchDataOf(job);
    const isShown = showCost ?? (model !== undefined && snapshot().models.get(model)?.showCost);
    return showBatch(job, isShown === true);
  };
  return {
    createBatch: async (incoming) => {
      const caller = callerOf(incoming);
      const body = await readBody(incoming, caller.id);
      const created = await batches.create({
        owner: ownerOf(caller),
        keyId: caller.id,
        inputFileId: body.input_file_id,
        endpoint: body.endpoint,
        metadata: body.metadata,
        outputSeconds: body.output_expires_after?.seconds ?? null,
        publicUrl: incoming.publicUrl,
      });
      return json(show(created, caller));
    },
    batches: async (incoming) => {
      const caller = callerOf(incoming);
      const { after, limit } = validate(pageQuery, queryOf(incoming));
      return sendList(incoming, {
        keyId: caller.id,
        maxBytes: maxBytesOfJobs(limit),
        read: async () => {
          const found = await batches.list(ownerOf(caller), { after, limit });
          if (found) {
            const shown = found.entries.map((job) => show(job, caller));
            return showPage(shown, found.next !== undefined);
          }
          throw new GatewayError("invalid_value", "Invalid 'after': there is no such batch.", {
            param: "after",
          });
        },
      });
    },
    batch: async (incoming, { id }) => {
      const caller = callerOf(incoming);
      return json(show(await batches.find(ownerOf(caller), decodePathSegment(id)), caller));
    },
    cancelBatch: async (incoming, { id }) => {
      const caller = callerOf(incoming);
      return json(show(await batches.cancel(ownerOf(caller), decodePathSegment(id)), caller));
    },
  };
}

/** Azure's clients leave out /v1 in the endpoint. */
async function readBody(incoming: IncomingRequest, keyId: string) {
  try {
    const body = bodyWithoutNulls(await incoming.json(keyId));
    const { endpoint } = body;
    const isShort =
      typeof endpoint === "string" && endpoints.includes(`/v1${endpoint}` as BatchEndpoint);
    return validate(createBatchBody, isShort ? { ...body, endpoint: `/v1${endpoint}` } : body);
  } finally {
    incoming.releaseBody();
  }
}
