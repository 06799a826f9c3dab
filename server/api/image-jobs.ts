/** /v1/images/jobs: image requests whose response is fetched later. A job belongs to the project of its API key. */
import { ownerOf } from "../auth/owner.ts";
import { validate } from "../http/read-body.ts";
import { decodePathSegment, json } from "../http/route.ts";
import type { Handlers } from "../http/routes.ts";
import { type Jobs, jobNotFound, maxBytesOfJobs, type StoredJob } from "../jobs/jobs.ts";
import { sendJob, showImageJob, showImageTask } from "../jobs/show-image-job.ts";
import type { Endpoint } from "../pipeline/endpoint.ts";
import type { Serve } from "../pipeline/handle-request.ts";
import type { StageLists } from "../pipeline/stages.ts";
import type { IncomingRequest, OutgoingResponse } from "../request/http-types.ts";
import type { EditQuery, GenerationQuery, ImageResponse } from "../upstream/contract.ts";
import { generationsEndpoint } from "./generations.ts";
import { createSendList, type ListMemory } from "./send-list.ts";
import {
  type AuthenticationOptions,
  createCallerOf,
  pageQuery,
  queryOf,
  showPage,
} from "./stored-requests.ts";

interface ImageJobHandlerOptions extends AuthenticationOptions, ListMemory {
  readonly jobs: Jobs;
  readonly serve: Serve;
  readonly edits: Endpoint<EditQuery, ImageResponse>;
  readonly send: StageLists;
}

type ImageJobHandlers = Pick<
  Handlers,
  | "imageJobs"
  | "imageJob"
  | "cancelImageJob"
  | "deleteImageJob"
  | "generationTask"
  | "editTask"
  | "imageTask"
>;

export function createImageJobHandlers(options: ImageJobHandlerOptions): ImageJobHandlers {
  const { jobs, serve, send } = options;
  const sendList = createSendList(options);
  const callerOf = createCallerOf(options);
  const ownerOfRequest = (incoming: IncomingRequest): string => ownerOf(callerOf(incoming));
  const find = async (incoming: IncomingRequest, id: string): Promise<StoredJob> => {
    const job = await jobs.find(ownerOfRequest(incoming), decodePathSegment(id));
    if (job.kind !== "image") throw jobNotFound(job.id);
    return job;
  };
  /** The accepted job in the form of a task. An error stays as it is. */
  const asTask = async (
    response: OutgoingResponse,
    incoming: IncomingRequest,
  ): Promise<OutgoingResponse> => {
    const id = response.headers.location?.split("/").at(-1);
    if (response.status !== 202 || id === undefined) return response;
    const shown = showImageTask(await jobs.find(ownerOfRequest(incoming), id));
    const headers = { ...response.headers, location: shown.poll_url };
    return { status: 202, headers, body: JSON.stringify(shown) };
  };
  const editJobs = asJob(options.edits);
  return {
    imageJobs: async (incoming) => {
      const caller = callerOf(incoming);
      const { after, limit } = validate(pageQuery, queryOf(incoming));
      return sendList(incoming, {
        keyId: caller.id,
        maxBytes: maxBytesOfJobs(limit),
        read: async () => {
          const found = await jobs.list(ownerOf(caller), "image", { after, limit });
          if (!found) throw jobNotFound(after ?? "");
          return showPage(found.entries.map(showImageJob), found.next !== undefined);
        },
      });
    },
    imageJob: async (incoming, { id }) => {
      const job = await find(incoming, id);
      return sendJob(jobs, job, showImageJob(job));
    },
    cancelImageJob: async (incoming, { id }) => {
      const { owner, id: found } = await find(incoming, id);
      return json(showImageJob(await jobs.cancel(owner, found)));
    },
    deleteImageJob: async (incoming, { id }) => {
      const { owner, id: found } = await find(incoming, id);
      await jobs.remove(owner, found);
      return json({ id: found, object: "image.job", deleted: true });
    },
    generationTask: async (incoming) =>
      asTask(await serve(generationJobs, send.generations, incoming), incoming),
    editTask: async (incoming) => asTask(await serve(editJobs, send.edits, incoming), incoming),
    imageTask: async (incoming, { id }) => {
      const job = await find(incoming, id);
      return sendJob(jobs, job, showImageTask(job));
    },
  };
}

/** The same endpoint for requests that are always jobs. */
const asJob = <Q extends GenerationQuery, A>(endpoint: Endpoint<Q, A>): Endpoint<Q, A> => ({
  ...endpoint,
  read: async (incoming, keyId, nameModel) => {
    const parsed = await endpoint.read(incoming, keyId, nameModel);
    return { ...parsed, query: { ...parsed.query, isAsync: true } };
  },
});

const generationJobs = asJob(generationsEndpoint);
