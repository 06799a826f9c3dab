/**
 * OpenAI's batches: platform.openai.com/docs/guides/batch, openai-node 7.55.0 `resources/batches.d.ts`. The name of a
 * batch is in its metadata.
 */
import { listOf, memberOf } from "../../upstream/adapters/wire/members.ts";
import {
  deleteFile,
  fileContentUrl,
  firstMessage,
  getJson,
  idIn,
  isOlder,
  onlyResult,
  postJson,
  present,
  readResultLine,
  uploadFile,
  urlBefore,
} from "./openai-files.ts";
import type { VendorApi, VendorEndpoint, VendorStatus } from "./vendor-api.ts";

/** Pages of the list of batches that are searched for one, newest first. */
const maxPages = 1000;
const pageSize = 100;

export const openai: VendorApi = {
  // The file may have 200 MB, and a base64 vector 16 kB.
  limits: { lines: 50_000, bytes: 200_000_000, inputs: 50_000 },
  // 50,000 as well. An image has megabytes, and the file of results is stored here.
  imageLimits: { lines: 500, bytes: 200_000_000, inputs: 500 },
  urlOf: (url) => urlBefore(url, "embeddings") ?? urlBefore(url, "images/generations"),
  // A batch has one model.
  sharedOf: ({ model }) => ({ model }),
  linesOf: (id, body, url) => [{ custom_id: id, method: "POST", url, body }],
  upload: uploadFile,
  create: async (endpoint, { fileId, name, path }) =>
    idIn(
      await postJson(endpoint, "/batches", {
        input_file_id: fileId,
        endpoint: path,
        completion_window: "24h",
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
  deleteFile,
  readResult: readResultLine,
  joinResults: onlyResult,
};

/** Also Voyage's. */
export async function findByMetadata(
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

/** Also Voyage's. */
export function batchStatus(batch: unknown): VendorStatus {
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
