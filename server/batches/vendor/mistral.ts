/**
 * Mistral's batch jobs: docs.mistral.ai/capabilities/batch, mistralai 3.7.0 (`BatchJobIn`, `BatchJobOut`). The model
 * belongs to the job, and files are as at OpenAI.
 */
import { listOf, memberOf } from "../../upstream/adapters/wire/members.ts";
import {
  clockMs,
  deleteFile,
  fileContentUrl,
  firstMessage,
  getJson,
  idIn,
  onlyResult,
  postJson,
  present,
  readResultLine,
  uploadFile,
  urlBefore,
} from "./openai-files.ts";
import type { VendorApi, VendorStatus } from "./vendor-api.ts";

const timeoutHours = 24;
const maxPages = 1000;
const pageSize = 100;

export const mistral: VendorApi = {
  // Mistral documents a million pending requests, and no size: with 20,000 vectors, a file of results has about 500 MB.
  limits: { lines: 20_000, bytes: 200_000_000, inputs: 20_000 },
  urlOf: (url) => urlBefore(url, "embeddings"),
  sharedOf: ({ model }) => ({ model }),
  linesOf: (id, { model: _, ...body }) => [{ custom_id: id, body }],
  upload: uploadFile,
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
  fileUrl: fileContentUrl,
  deleteFile,
  readResult: readResultLine,
  joinResults: onlyResult,
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
