/**
 * The batches of vendors with OpenAI's files and result lines: OpenAI (platform.openai.com/docs/guides/batch,
 * openai-node 7.55.0 `resources/batches.d.ts`), Voyage (docs.voyageai.com/docs/batch-inference, read on 2026-11-18) and
 * Mistral (docs.mistral.ai/capabilities/batch, mistralai 3.7.0 `BatchJobIn`, `BatchJobOut`).
 */
import { formRequest, jsonRequest } from "../../upstream/adapters/wire/build-request.ts";
import { asObject, listOf, memberOf } from "../../upstream/adapters/wire/members.ts";
import type {
  InputFile,
  JsonObject,
  VendorApi,
  VendorEndpoint,
  VendorResult,
  VendorStatus,
} from "./vendor-api.ts";
import { VendorError } from "./vendor-api.ts";

/** The URL of the API, from that of a request with this path. Undefined if it has another path. */
function urlBefore(requestUrl: string, path: string): string | undefined {
  const [url = ""] = requestUrl.split("?", 1);
  return url.endsWith(`/${path}`) ? url.slice(0, -path.length - 1) : undefined;
}

async function uploadFile(
  { url, headers, send }: VendorEndpoint,
  { size, open }: InputFile,
  name: string,
): Promise<string> {
  const file = {
    field: "file",
    filename: `${name}.jsonl`,
    type: "application/jsonl",
    size,
    stream: open,
    bytes: () => Promise.reject(new Error("The file is streamed.")),
  };
  const response = await send(
    formRequest(`${url}/files`, headers, [
      { name: "purpose", text: "batch" },
      { name: "file", file },
    ]),
  );
  return idIn(await response.json());
}

const fileContentUrl = ({ url }: VendorEndpoint, fileId: string): string =>
  `${url}/files/${encodeURIComponent(fileId)}/content`;

export async function getJson({ url, headers, send }: VendorEndpoint, path: string) {
  return (await send({ url: `${url}${path}`, headers })).json();
}

export async function postJson({ url, headers, send }: VendorEndpoint, path: string, body = {}) {
  return (await send({ ...jsonRequest(`${url}${path}`, headers, body), method: "POST" })).json();
}

async function deleteFile({ url, headers, send }: VendorEndpoint, fileId: string) {
  const path = `/files/${encodeURIComponent(fileId)}`;
  await (await send({ url: `${url}${path}`, headers, method: "DELETE" })).text();
}

/** The clocks of the vendor and of this process may differ. */
const clockMs = 3_600_000;

/** Whether a batch was created before `since`. `createdAt`: Unix seconds, or a date. `since`: Unix milliseconds. */
export const isOlder = (createdAt: unknown, since: number): boolean =>
  (typeof createdAt === "number" ? createdAt * 1000 : Date.parse(String(createdAt))) <
  since - clockMs;

/** The id of a new object. */
export function idIn(body: unknown, member = "id"): string {
  const id = memberOf(body, member);
  if (typeof id === "string" && id !== "") return id;
  throw new VendorError("The vendor's response has no id.", undefined);
}

/** Requests that did not run have such an error instead of a response. */
const notRun: ReadonlySet<unknown> = new Set(["batch_expired", "batch_cancelled"]);

function readResultLine(line: JsonObject): VendorResult | undefined {
  const { custom_id: id, response, error } = line;
  if (typeof id !== "string") return undefined;
  const status = memberOf(response, "status_code");
  if (asObject(response) && typeof status === "number")
    return { id, status, body: memberOf(response, "body") };
  return notRun.has(memberOf(error, "code")) ? undefined : { id, status: 500, body: { error } };
}

/** The ids that are present. */
export const present = (...ids: readonly unknown[]): readonly string[] =>
  ids.filter((id): id is string => typeof id === "string" && id !== "");

/** The message of the first error of a list. */
function firstMessage(errors: unknown): string | undefined {
  const [first] = Array.isArray(errors) ? (errors as readonly unknown[]) : [];
  const message = memberOf(first, "message");
  return typeof message === "string" ? message.slice(0, 500) : undefined;
}

const files = {
  upload: uploadFile,
  fileUrl: fileContentUrl,
  deleteFile,
  readResult: readResultLine,
  // The only result.
  joinResults: ([body]) => body,
} satisfies Partial<VendorApi>;

const batches = {
  ...files,
  find: findByMetadata,
  poll: async (endpoint, id) =>
    batchStatus(await getJson(endpoint, `/batches/${encodeURIComponent(id)}`)),
  cancel: async (endpoint, id) => {
    await postJson(endpoint, `/batches/${encodeURIComponent(id)}/cancel`);
  },
} satisfies Partial<VendorApi>;

/** Pages of the list of batches that are searched for one, newest first. */
const maxPages = 1000;
const pageSize = 100;

/** The name of a batch is in its metadata. */
export const openai: VendorApi = {
  ...batches,
  // The file may have 200 MB, and a base64 vector 16 kB.
  limits: { lines: 50_000, bytes: 200_000_000, inputs: 50_000 },
  // OpenAI takes 50,000. An image has megabytes, and the gateway stores the file of results.
  imageLimits: { lines: 500, bytes: 200_000_000, inputs: 500 },
  urlOf: (url) => urlBefore(url, "embeddings") ?? urlBefore(url, "images/generations"),
  // A batch has one model.
  sharedOf: ({ model }) => ({ model }),
  linesOf: (id, body, url) => [{ custom_id: id, method: "POST", url, body }],
  create: async (endpoint, { fileId, name, path }) =>
    idIn(
      await postJson(endpoint, "/batches", {
        input_file_id: fileId,
        endpoint: path,
        completion_window: "24h",
        metadata: { vexel: name },
      }),
    ),
};

async function findByMetadata(
  endpoint: VendorEndpoint,
  name: string,
  since: number,
): Promise<string | undefined> {
  let after = "";
  for (let page = 0; page < maxPages; page++) {
    const body = await getJson(endpoint, `/batches?limit=${pageSize}${after}`);
    const batches = listOf(memberOf(body, "data"));
    const found = batches.find((batch) => memberOf(memberOf(batch, "metadata"), "vexel") === name);
    if (found) return idIn(found);
    const last = batches.at(-1);
    if (memberOf(body, "has_more") !== true || isOlder(memberOf(last, "created_at"), since))
      return undefined;
    after = `&after=${encodeURIComponent(idIn(last))}`;
  }
  return undefined;
}

const ends: ReadonlySet<unknown> = new Set(["completed", "expired", "cancelled", "failed"]);

function batchStatus(batch: unknown): VendorStatus {
  const status = memberOf(batch, "status");
  if (!ends.has(status)) return { kind: "running" };
  const errors = memberOf(memberOf(batch, "errors"), "data");
  const [first] = listOf(errors);
  return {
    kind: "ended",
    outcome: status as "completed",
    reason: firstMessage(errors),
    isQueueFull: memberOf(first, "code") === "token_limit_exceeded",
    files: present(memberOf(batch, "output_file_id"), memberOf(batch, "error_file_id")),
  };
}

/** A public preview. The model and the options belong to the batch, and a line has only its inputs. */
export const voyage: VendorApi = {
  ...batches,
  // "1 GB file sizes, 100K inputs per batch" (blog.voyageai.com/2025/12/04/batch-api).
  limits: { lines: 100_000, bytes: 1_000_000_000, inputs: 100_000 },
  urlOf: (url) => urlBefore(url, "embeddings"),
  // Whether a batch takes `encoding_format` is not documented: the vectors are numbers.
  sharedOf: ({ input: _, encoding_format: __, ...options }) => options,
  linesOf: (id, { input }) => [{ custom_id: id, body: { input } }],
  create: async (endpoint, { fileId, name, shared }) =>
    idIn(
      await postJson(endpoint, "/batches", {
        input_file_id: fileId,
        endpoint: "/v1/embeddings",
        completion_window: "12h",
        request_params: shared,
        metadata: { vexel: name },
      }),
    ),
  // docs.voyageai.com/reference/bulk-delete-files
  deleteFile: async (endpoint, fileId) => {
    await postJson(endpoint, "/files/delete", { file_ids: [fileId] });
  },
};

const timeoutHours = 24;

/** The model belongs to the job. */
export const mistral: VendorApi = {
  ...files,
  // Mistral documents a million pending requests, and no size: with 20,000 vectors, a file of results has about 500 MB.
  limits: { lines: 20_000, bytes: 200_000_000, inputs: 20_000 },
  urlOf: (url) => urlBefore(url, "embeddings"),
  sharedOf: ({ model }) => ({ model }),
  linesOf: (id, { model: _, ...body }) => [{ custom_id: id, body }],
  create: async (endpoint, { fileId, name, shared }) =>
    idIn(
      await postJson(endpoint, "/batch/jobs", {
        input_files: [fileId],
        endpoint: "/v1/embeddings",
        ...shared,
        metadata: { vexel: name },
        timeout_hours: timeoutHours,
      }),
    ),
  find: async (endpoint, name, since) => {
    const after = encodeURIComponent(new Date(since - clockMs).toISOString());
    for (let page = 0; page < maxPages; page++) {
      const path = `/batch/jobs?page=${page}&page_size=${pageSize}&created_after=${after}`;
      const body = await getJson(endpoint, path);
      const jobs = listOf(memberOf(body, "data"));
      const found = jobs.find((job) => memberOf(memberOf(job, "metadata"), "vexel") === name);
      if (found) return idIn(found);
      if (jobs.length < pageSize) return undefined;
    }
    return undefined;
  },
  poll: async (endpoint, id) =>
    jobStatus(await getJson(endpoint, `/batch/jobs/${encodeURIComponent(id)}`)),
  cancel: async (endpoint, id) => {
    await postJson(endpoint, `/batch/jobs/${encodeURIComponent(id)}/cancel`);
  },
};

const outcomes = new Map<unknown, Extract<VendorStatus, { kind: "ended" }>["outcome"]>([
  ["SUCCESS", "completed"],
  ["TIMEOUT_EXCEEDED", "expired"],
  ["CANCELLED", "cancelled"],
  ["FAILED", "failed"],
]);

function jobStatus(job: unknown): VendorStatus {
  const outcome = outcomes.get(memberOf(job, "status"));
  if (!outcome) return { kind: "running" };
  return {
    kind: "ended",
    outcome,
    reason: firstMessage(memberOf(job, "errors")),
    files: present(memberOf(job, "output_file"), memberOf(job, "error_file")),
  };
}
