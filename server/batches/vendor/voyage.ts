/**
 * Voyage's batches, a public preview: docs.voyageai.com/docs/batch-inference (read on 2026-11-18). As OpenAI's, but the
 * model and the options belong to the batch, and a line has only its inputs.
 */

import { batchStatus, findByMetadata } from "./openai.ts";
import {
  fileContentUrl,
  getJson,
  idIn,
  onlyResult,
  postJson,
  readResultLine,
  uploadFile,
  urlBefore,
} from "./openai-files.ts";
import type { VendorApi } from "./vendor-api.ts";

export const voyage: VendorApi = {
  // "1 GB file sizes, 100K inputs per batch" (blog.voyageai.com/2025/12/04/batch-api).
  limits: { lines: 100_000, bytes: 1_000_000_000, inputs: 100_000 },
  urlOf: (url) => urlBefore(url, "embeddings"),
  // Whether a batch takes `encoding_format` is not documented: the vectors are numbers.
  sharedOf: ({ input: _, encoding_format: __, ...options }) => options,
  linesOf: (id, { input }) => [{ custom_id: id, body: { input } }],
  upload: uploadFile,
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
  find: findByMetadata,
  poll: async (endpoint, id) =>
    batchStatus(await getJson(endpoint, `/batches/${encodeURIComponent(id)}`)),
  cancel: async (endpoint, id) => {
    await postJson(endpoint, `/batches/${encodeURIComponent(id)}/cancel`);
  },
  fileUrl: fileContentUrl,
  // docs.voyageai.com/reference/bulk-delete-files
  deleteFile: async (endpoint, fileId) => {
    await postJson(endpoint, "/files/delete", { file_ids: [fileId] });
  },
  readResult: readResultLine,
  joinResults: onlyResult,
};
