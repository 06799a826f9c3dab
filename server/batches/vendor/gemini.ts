/**
 * Batches of the Gemini API: ai.google.dev/gemini-api/docs/batch-api, google-genai 3.3.0 `batches.py`
 * (`asyncBatchEmbedContent`) and `files.py` (resumable upload). A line has one input, and its key.
 */
import { jsonRequest } from "../../upstream/adapters/wire/build-request.ts";
import { asObject, listOf, memberOf } from "../../upstream/adapters/wire/members.ts";
import { getJson, idIn, isOlder, postJson, present } from "./openai.ts";
import type {
  InputFile,
  JsonObject,
  VendorApi,
  VendorEndpoint,
  VendorResult,
  VendorStatus,
} from "./vendor-api.ts";
import { VendorError } from "./vendor-api.ts";

const maxPages = 1000;
const pageSize = 100;

export const gemini: VendorApi = {
  // "up to 2 GB" of input. With 10,000 vectors of 3,072 numbers, a file of results has about 700 MB.
  limits: { lines: 10_000, bytes: 1_000_000_000, inputs: 10_000 },
  urlOf: (requestUrl) => /^(.+)\/models\/[^/]+:embedContent$/.exec(requestUrl)?.[1],
  sharedOf: (body) => ({ model: memberOf(requestsIn(body)[0], "model") }),
  linesOf: (id, body) => requestsIn(body).map((request, at) => ({ key: `${id}.${at}`, request })),
  upload,
  create: async (endpoint, { fileId, name, shared }) => {
    const path = `/${pathOf(shared.model)}:asyncBatchEmbedContent`;
    const batch = { displayName: name, inputConfig: { fileName: fileId } };
    return idIn(await postJson(endpoint, path, { batch }), "name");
  },
  find: async (endpoint, name, since) => {
    let token = "";
    for (let page = 0; page < maxPages; page++) {
      const body = await getJson(endpoint, `/batches?pageSize=${pageSize}${token}`);
      const batches = listOf(memberOf(body, "operations"));
      const found = batches.find(
        (batch) => memberOf(memberOf(batch, "metadata"), "displayName") === name,
      );
      if (found) return idIn(found, "name");
      const next = memberOf(body, "nextPageToken");
      const oldest = memberOf(memberOf(batches.at(-1), "metadata"), "createTime");
      if (typeof next !== "string" || next === "" || isOlder(oldest, since)) return undefined;
      token = `&pageToken=${encodeURIComponent(next)}`;
    }
    return undefined;
  },
  poll: async (endpoint, id) => operationStatus(await getJson(endpoint, `/${pathOf(id)}`)),
  cancel: async (endpoint, id) => {
    await postJson(endpoint, `/${pathOf(id)}:cancel`);
  },
  fileUrl: ({ url }, fileId) =>
    `${withFolder(url, "download")}/${pathOf(fileId)}:download?alt=media`,
  deleteFile: async ({ url, headers, send }, fileId) => {
    await (await send({ url: `${url}/${pathOf(fileId)}`, headers, method: "DELETE" })).text();
  },
  readResult,
  joinResults: (bodies) =>
    bodies.length === 1
      ? bodies[0]
      : {
          embeddings: bodies.map((body) => memberOf(body, "embedding")),
          usageMetadata: { promptTokenCount: tokensOf(bodies) },
        },
};

/** Not a number if the vendor does not report the tokens of all inputs. */
const tokensOf = (bodies: readonly unknown[]): number =>
  bodies.reduce<number>(
    (sum, body) => sum + Number(memberOf(memberOf(body, "usageMetadata"), "promptTokenCount")),
    0,
  );

/** The requests of one body: of `embedContent`, or of `batchEmbedContents`. */
const requestsIn = (body: JsonObject): readonly unknown[] =>
  Array.isArray(body.requests) ? body.requests : [body];

/** A name such as `batches/123` as a path. It cannot leave its folder. */
const pathOf = (name: unknown): string =>
  String(name)
    .split("/")
    .map((part) => encodeURIComponent(part.replace(/^\.+$/, "")))
    .join("/");

/** `https://HOST/v1beta` becomes `https://HOST/upload/v1beta`. */
const withFolder = (url: string, folder: string): string =>
  url.replace(/\/(v\d\w*)$/, `/${folder}/$1`);

/** Google's resumable upload: the first request gets the URL of the second. */
async function upload(
  { url, headers, send }: VendorEndpoint,
  { size, open }: InputFile,
  name: string,
): Promise<string> {
  const start = jsonRequest(`${withFolder(url, "upload")}/files`, headers, {
    file: { displayName: name },
  });
  const started = await send({
    ...start,
    headers: {
      ...start.headers,
      "x-goog-upload-protocol": "resumable",
      "x-goog-upload-command": "start",
      "x-goog-upload-header-content-length": String(size),
      "x-goog-upload-header-content-type": "application/jsonl",
    },
  });
  await started.text();
  const uploadUrl = started.headers.get("x-goog-upload-url");
  // The API key goes to no other host.
  if (uploadUrl === null || URL.parse(uploadUrl)?.origin !== new URL(url).origin)
    throw new VendorError("The vendor returned no URL for the upload.", 400);
  const finished = await send({
    url: uploadUrl,
    headers: {
      ...headers,
      "x-goog-upload-offset": "0",
      "x-goog-upload-command": "upload, finalize",
    },
    body: { length: size, open },
  });
  return idIn(memberOf(await finished.json(), "file"), "name");
}

const outcomes = ["completed", "failed", "cancelled", "expired"] as const;
/** `BATCH_STATE_…`, or `JOB_STATE_…` in the SDK. */
const states = ["SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"] as const;

function operationStatus(operation: unknown): VendorStatus {
  const metadata = memberOf(operation, "metadata");
  const state = String(memberOf(metadata, "state") ?? memberOf(operation, "state") ?? "");
  const at = states.findIndex((end) => state.endsWith(`_${end}`));
  const error = memberOf(operation, "error");
  if (at < 0 && memberOf(operation, "done") !== true) return { kind: "running" };
  const message = memberOf(error, "message");
  const outputs = [memberOf(operation, "response"), memberOf(metadata, "output")];
  const [file] = present(...outputs.map((output) => memberOf(output, "responsesFile")));
  return {
    kind: "ended",
    outcome: outcomes[at] ?? (error ? "failed" : "completed"),
    reason: typeof message === "string" ? message.slice(0, 500) : undefined,
    files: file === undefined ? [] : [file],
  };
}

/** google.rpc.Code, of errors that have no HTTP status. */
const httpStatuses: Readonly<Record<number, number>> = { 3: 400, 5: 404, 7: 403, 8: 429, 16: 401 };

function readResult({ key, response, error }: JsonObject): VendorResult | undefined {
  if (typeof key !== "string") return undefined;
  if (asObject(response)) return { id: key, status: 200, body: response };
  const code = Number(memberOf(error, "code"));
  const status = code >= 400 && code <= 599 ? code : (httpStatuses[code] ?? 500);
  return { id: key, status, body: { error } };
}
