/** /jobs: batches and image jobs of clients: their progress and their results, and how they are stopped. */
import { z } from "zod";
import { batchExecutions } from "../../../contract/admin/constants.ts";
import {
  jobDetailSchema,
  jobEstimateSchema,
  shownJobSchema,
} from "../../../contract/admin/jobs.ts";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { pageSchema } from "../../../contract/admin/page.ts";
import type { JobEstimate } from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import { findKey } from "../../auth/authenticate.ts";
import { ownerOf, ownerOfProject, projectOfOwner } from "../../auth/owner.ts";
import { type BatchEndpoint, batchDataOf, batchEndpoints } from "../../batches/batches.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { FoundFile } from "../../storage/ports/file-store.ts";
import type { StoredJob } from "../../storage/sql/stored-job.ts";
import { inProject, maySeeProject } from "../actor.ts";
import type { AdminDependencies, ClientJobs } from "../admin-dependencies.ts";
import { type AdminApiContext, type AdminRoute, senderOf } from "../admin-route.ts";
import { nextCursor, pageQuery, readPage } from "../read-page.ts";
import { readQuery } from "../read-query.ts";
import { projectText } from "../reads/request-filter.ts";
import { showJob, showJobDetail } from "../reads/show-job.ts";
import { notSignedIn } from "../sign-in/authenticate-actor.ts";

const endpoints = Object.keys(batchEndpoints) as [BatchEndpoint, ...BatchEndpoint[]];

const listQuery = pageQuery.extend({ project: projectText });

const fileQuery = z.object({
  endpoint: z.enum(endpoints).describe("The endpoint of all lines."),
  key_id: z.string().max(200).describe("The API key that runs the lines and pays for them."),
});
const startQuery = fileQuery.extend({
  execution: z
    .enum(batchExecutions)
    .optional()
    .describe("Where the lines run. If absent, as the model is configured."),
  name: z.string().max(200).optional().describe("Shown with the job: `name` of its metadata."),
});

export function jobRoutes(dependencies: AdminDependencies): readonly AdminRoute[] {
  const { clientJobs, snapshot, keyNames, audit, now } = dependencies;

  const list = async (context: AdminApiContext): Promise<Response> => {
    const { project } = readQuery(context, listQuery);
    const { projects } = inProject(context.get("actor"), project);
    const owners = projects?.map(ownerOfProject) ?? null;
    const { entries, next } = await available(clientJobs).jobs.listAll(owners, readPage(context));
    const names = await keyNames.of(entries.map(({ keyId }) => keyId));
    return context.json({
      object: "list",
      data: entries.map((job) => showJob(job, names.get(job.keyId) ?? null, now())),
      next_cursor: nextCursor(context, next),
    });
  };

  const find = async (context: AdminApiContext): Promise<StoredJob> => {
    const job = await available(clientJobs).jobs.findById(context.req.param("id") ?? "");
    if (job && maySeeProject(context.get("actor"), projectOfOwner(job.owner))) return job;
    throw new GatewayError("entity_not_found", message("no_such_job"));
  };

  const respond = async (
    context: AdminApiContext,
    job: StoredJob,
    status: 200 | 201 = 200,
  ): Promise<Response> => {
    const names = await keyNames.of([job.keyId]);
    return context.json(showJobDetail(job, names.get(job.keyId) ?? null, now()), status);
  };

  const show = async (context: AdminApiContext): Promise<Response> =>
    respond(context, await find(context));

  /** Stores the file of the request for the owner of the API key. */
  const receiveFor = async (context: AdminApiContext, keyId: string) => {
    const { receive } = available(clientJobs);
    const key = findKey(keyId, snapshot());
    if (!key || !maySeeProject(context.get("actor"), key.project ?? null)) {
      throw new GatewayError("invalid_value", message("no_active_api_key"), {
        param: "key_id",
      });
    }
    const owner = ownerOf(key);
    return { owner, inputFileId: (await receive(context.env.incoming, owner)).id };
  };

  const estimate = async (context: AdminApiContext): Promise<Response> => {
    const { endpoint, key_id: keyId } = readQuery(context, fileQuery);
    const { estimateBatch, files } = available(clientJobs);
    const file = await receiveFor(context, keyId);
    try {
      const found = await estimateBatch({ ...file, keyId, endpoint });
      const shown: JobEstimate = {
        object: "job_estimate",
        lines: found.lines,
        valid_lines: found.validLines,
        input_errors: [...found.errors],
        model: found.model,
        estimated_cost: found.estimate,
        execution: found.execution,
        vendor_problem: found.vendorProblem,
      };
      return context.json(shown);
    } finally {
      await files.remove(file.owner, file.inputFileId);
    }
  };

  const start = async (context: AdminApiContext): Promise<Response> => {
    const { endpoint, key_id: keyId, execution, name } = readQuery(context, startQuery);
    const { batches } = available(clientJobs);
    const file = await receiveFor(context, keyId);
    // The user may have been removed or changed while the file was on its way.
    if (!(await context.get("isStillAllowed")())) throw notSignedIn();
    const metadata = {
      ...(name !== undefined && name !== "" && { name }),
      ...(execution !== undefined && { "vexel.batch": execution }),
    };
    const job = await batches.create({
      ...file,
      keyId,
      endpoint,
      metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
      outputSeconds: null,
      publicUrl: context.env.incoming.publicUrl,
    });
    await audit.record({ ...senderOf(context), action: "job.created", subject: job.id });
    return respond(context, job, 201);
  };

  const change =
    (action: string, apply: (jobs: ClientJobs["jobs"], job: StoredJob) => Promise<StoredJob>) =>
    async (context: AdminApiContext): Promise<Response> => {
      const job = await find(context);
      if (job.endedAt !== null) {
        throw new GatewayError("invalid_state", message("job_has_ended", { status: job.status }));
      }
      const changed = await apply(available(clientJobs).jobs, job);
      await audit.record({ ...senderOf(context), action: `job.${action}`, subject: job.id });
      return respond(context, changed);
    };

  const download =
    (kind: "output" | "errors") =>
    async (context: AdminApiContext): Promise<Response> => {
      const job = await find(context);
      const file = await fileOf(available(clientJobs), job, kind);
      if (!file) {
        throw new GatewayError("entity_not_found", message("job_has_no_file", { kind }));
      }
      const extension = job.kind === "image" ? "json" : "jsonl";
      return context.body(file.read(), 200, {
        "content-type": "application/octet-stream",
        "content-length": String(file.size),
        "content-disposition": `attachment; filename="${job.id}_${kind}.${extension}"`,
      });
    };

  const read = { method: "GET", scope: "project" } as const;
  const act = {
    method: "POST",
    needs: "develop",
    scope: "project",
    response: jobDetailSchema,
  } as const;
  return [
    {
      ...read,
      path: "/jobs",
      needs: "view",
      summary: "List batches and image jobs, newest first.",
      query: listQuery,
      response: pageSchema(shownJobSchema, listBounds.page),
      handle: list,
    },
    {
      ...read,
      path: "/jobs/:id",
      needs: "view",
      summary: "Show a job with its progress.",
      response: jobDetailSchema,
      handle: show,
    },
    {
      ...act,
      path: "/jobs",
      summary: "Start a batch with the file of a form, as POST /v1/files and POST /v1/batches.",
      query: startQuery,
      status: 201,
      handle: start,
    },
    {
      ...act,
      path: "/jobs/estimates",
      summary: "Count the lines of the file of a form, and estimate what they cost as a batch.",
      query: fileQuery,
      response: jobEstimateSchema,
      handle: estimate,
    },
    {
      ...act,
      path: "/jobs/:id/pause",
      summary: "Pause a job: it begins no line.",
      handle: change("paused", (jobs, { owner, id }) => jobs.pause(owner, id, true)),
    },
    {
      ...act,
      path: "/jobs/:id/resume",
      summary: "Resume a paused job.",
      handle: change("resumed", (jobs, { owner, id }) => jobs.pause(owner, id, false)),
    },
    {
      ...act,
      path: "/jobs/:id/cancel",
      summary: "Cancel a job. Results of lines that have ended are kept.",
      handle: change("cancelled", (jobs, { owner, id }) => jobs.cancel(owner, id)),
    },
    {
      ...read,
      path: "/jobs/:id/output",
      needs: "develop",
      summary: "Download the results of a job that has ended.",
      response: "application/octet-stream",
      handle: download("output"),
    },
    {
      ...read,
      path: "/jobs/:id/errors",
      needs: "develop",
      summary: "Download the failed lines of a batch that has ended.",
      response: "application/octet-stream",
      handle: download("errors"),
    },
  ];
}

function available(jobs: ClientJobs | undefined): ClientJobs {
  if (jobs) return jobs;
  throw new GatewayError("jobs_unavailable", message("no_job_storage"));
}

/** Undefined if there is none, or it was deleted. */
async function fileOf(
  { jobs, files }: ClientJobs,
  job: StoredJob,
  kind: "output" | "errors",
): Promise<FoundFile | undefined> {
  if (job.kind === "image") {
    if (kind !== "output" || job.status !== "completed") return undefined;
    return (await jobs.result(job.id))?.body;
  }
  const { outputFileId, errorFileId } = batchDataOf(job);
  const id = kind === "output" ? outputFileId : errorFileId;
  return id === undefined ? undefined : files.content(await files.find(job.owner, id));
}
