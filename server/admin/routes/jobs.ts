/** /jobs: batches and image jobs of clients: their progress and their results, and how they are stopped. */
import { jobDetailSchema, shownJobSchema } from "../../../contract/admin/jobs.ts";
import { pageSchema } from "../../../contract/admin/page.ts";
import { ownerOfProject, projectOfOwner } from "../../auth/owner.ts";
import { batchDataOf } from "../../batches/stored-batch.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { FoundFile } from "../../storage/ports/file-store.ts";
import type { StoredJob } from "../../storage/ports/job-store.ts";
import { maySeeProject } from "../actor.ts";
import type { AdminDependencies, ClientJobs } from "../admin-dependencies.ts";
import { type AdminApiContext, type AdminRoute, senderOf } from "../admin-route.ts";
import { nextCursor, pageQuery, readPage } from "../read-page.ts";
import { showJob, showJobDetail } from "../reads/show-job.ts";

export function jobRoutes(dependencies: AdminDependencies): readonly AdminRoute[] {
  const { clientJobs, keyNames, audit, now } = dependencies;

  const list = async (context: AdminApiContext): Promise<Response> => {
    const { projects } = context.get("actor");
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
    throw new GatewayError("entity_not_found", "No job has this id.");
  };

  const respond = async (context: AdminApiContext, job: StoredJob): Promise<Response> => {
    const names = await keyNames.of([job.keyId]);
    return context.json(showJobDetail(job, names.get(job.keyId) ?? null, now()));
  };

  const show = async (context: AdminApiContext): Promise<Response> =>
    respond(context, await find(context));

  const change =
    (action: string, apply: (jobs: ClientJobs["jobs"], job: StoredJob) => Promise<StoredJob>) =>
    async (context: AdminApiContext): Promise<Response> => {
      const job = await find(context);
      if (job.endedAt !== null) {
        throw new GatewayError(
          "invalid_state",
          `The job is ${job.status}, and cannot be changed any more.`,
        );
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
        throw new GatewayError("entity_not_found", `The job has no ${kind} now.`);
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
    role: "developer",
    scope: "project",
    response: jobDetailSchema,
  } as const;
  return [
    {
      ...read,
      path: "/jobs",
      role: "viewer",
      summary: "List batches and image jobs, newest first.",
      query: pageQuery,
      response: pageSchema(shownJobSchema),
      handle: list,
    },
    {
      ...read,
      path: "/jobs/:id",
      role: "viewer",
      summary: "Show a job with its progress.",
      response: jobDetailSchema,
      handle: show,
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
      role: "developer",
      summary: "Download the results of a job that has ended.",
      response: "application/octet-stream",
      handle: download("output"),
    },
    {
      ...read,
      path: "/jobs/:id/errors",
      role: "developer",
      summary: "Download the failed lines of a batch that has ended.",
      response: "application/octet-stream",
      handle: download("errors"),
    },
  ];
}

function available(jobs: ClientJobs | undefined): ClientJobs {
  if (jobs) return jobs;
  throw new GatewayError(
    "jobs_unavailable",
    "The replicas of this gateway share a database, and no storage for jobs. Set BLOB_URL.",
  );
}

/** Undefined: there is none, or it was deleted. */
async function fileOf(
  { jobs, files }: ClientJobs,
  job: StoredJob,
  kind: "output" | "errors",
): Promise<FoundFile | undefined> {
  if (job.kind === "image") {
    return kind === "output" && job.status === "completed" ? jobs.result(job.id) : undefined;
  }
  const { outputFileId, errorFileId } = batchDataOf(job);
  const id = kind === "output" ? outputFileId : errorFileId;
  return id === undefined ? undefined : files.content(await files.find(job.owner, id));
}
