/**
 * A strict fake of S3 in memory: verifies every signature (AWS Signature Version 4, in the header or presigned), the
 * hash of the body and the expiry of a presigned URL, and supports objects, ranges, lists and multipart uploads.
 */
import { createHash, createHmac, randomUUID } from "node:crypto";

interface FakeS3Options {
  /** Certificate and private key, in PEM format. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** The entries of one page of a list. */
  readonly pageSize?: number;
  /** Unix milliseconds, for clients whose clock is wrong. */
  readonly now?: () => number;
}

interface StoredObject {
  readonly bytes: Uint8Array;
  readonly type: string;
  readonly modified: string;
}

interface Upload {
  readonly type: string;
  readonly parts: Map<number, Uint8Array>;
}

const fakeS3Credentials = { id: "FAKEKEY", secret: "fake/secret+key" };
const region = "eu-test-1";

export type FakeS3 = ReturnType<typeof startFakeS3>;

export function startFakeS3({ tls, pageSize = 1000, now = Date.now }: FakeS3Options = {}) {
  const objects = new Map<string, StoredObject>();
  const uploads = new Map<string, Upload>();
  const requests: string[] = [];
  let waiting: Promise<void> | undefined;
  let intercept: ((request: Request) => Response | undefined) | undefined;
  const handle = async (request: Request): Promise<Response> => {
    const url = new URL(request.url);
    requests.push(`${request.method} ${url.pathname}`);
    await waiting;
    const body = await request.bytes();
    const intercepted = intercept?.(request);
    if (intercepted) return intercepted;
    const problem = signatureProblem(request, url, body, now());
    if (problem !== undefined) return errorResponse(403, "SignatureDoesNotMatch", problem);
    const [, bucket = "", ...path] = url.pathname.split("/");
    if (bucket !== "bucket") return errorResponse(404, "NoSuchBucket", bucket);
    const key = decodeURIComponent(path.join("/"));
    const query = url.searchParams;
    const type = request.headers.get("content-type") ?? "application/octet-stream";
    if (key === "") return list(objects, query, pageSize);
    if (request.method === "POST" && query.has("uploads")) {
      const id = randomUUID();
      uploads.set(id, { type, parts: new Map() });
      return xml(
        `<InitiateMultipartUploadResult><Bucket>${bucket}</Bucket><Key>${key}</Key><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
      );
    }
    const uploadId = query.get("uploadId");
    const upload = uploadId === null ? undefined : uploads.get(uploadId);
    if (uploadId !== null && !upload) return errorResponse(404, "NoSuchUpload", uploadId);
    const store = (bytes: Uint8Array): void => {
      const modified = new Date(now()).toISOString();
      objects.set(key, { bytes, type: upload?.type ?? type, modified });
    };
    switch (request.method) {
      case "PUT":
        if (upload) upload.parts.set(Number(query.get("partNumber")), body);
        else store(body);
        return new Response("", { headers: { etag: etagOf(body) } });
      case "POST": {
        const parts = [...(upload?.parts ?? [])].sort(([a], [b]) => a - b);
        const bytes = Buffer.concat(parts.map(([, part]) => part));
        uploads.delete(uploadId ?? "");
        store(bytes);
        return xml(
          `<CompleteMultipartUploadResult><ETag>${etagOf(bytes)}</ETag></CompleteMultipartUploadResult>`,
        );
      }
      case "DELETE":
        if (uploadId === null) objects.delete(key);
        else uploads.delete(uploadId);
        return new Response(null, { status: 204 });
      default:
        return read(objects.get(key), request);
    }
  };
  const serve = (port: number) =>
    Bun.serve({ hostname: "127.0.0.1", port, fetch: handle, ...(tls && { tls }) });
  let server = serve(0);
  const { port } = server;
  const endpoint = `${tls ? "https" : "http"}://127.0.0.1:${port}`;
  const credentials = `${fakeS3Credentials.id}:${encodeURIComponent(fakeS3Credentials.secret)}`;
  return {
    objects,
    /** Multipart uploads that were neither completed nor aborted. */
    uploads,
    requests,
    endpoint,
    /** A `BLOB_URL`. */
    url: (prefix = "", more = ""): string =>
      `s3://${credentials}@bucket/${prefix}?endpoint=${endpoint}&region=${region}${more}`,
    /** Requests get no response until the returned function is called. */
    hang: (): (() => void) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting = promise;
      return () => {
        waiting = undefined;
        resolve();
      };
    },
    /** `handler` responds instead of the store, unless it returns undefined. Undefined if the store responds again. */
    intercept: (handler: typeof intercept): void => {
      intercept = handler;
    },
    stop: () => server.stop(true),
    start: (): void => {
      server = serve(port ?? 0);
    },
  };
}

function list(
  objects: ReadonlyMap<string, StoredObject>,
  query: URLSearchParams,
  pageSize: number,
): Response {
  const prefix = query.get("prefix") ?? "";
  const after = query.get("continuation-token") ?? "";
  const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
  const page = keys.slice(0, pageSize);
  const entries = page.map((key) => {
    const { bytes, modified } = objects.get(key) as StoredObject;
    return `<Contents><Key>${key}</Key><LastModified>${modified}</LastModified><ETag>${etagOf(bytes)}</ETag><Size>${bytes.length}</Size></Contents>`;
  });
  const next = keys.length > page.length ? page.at(-1) : undefined;
  return xml(
    `<ListBucketResult><Name>bucket</Name><Prefix>${prefix}</Prefix><KeyCount>${page.length}</KeyCount><MaxKeys>${pageSize}</MaxKeys><IsTruncated>${next !== undefined}</IsTruncated>${next === undefined ? "" : `<NextContinuationToken>${next}</NextContinuationToken>`}${entries.join("")}</ListBucketResult>`,
  );
}

function read(object: StoredObject | undefined, { method, headers }: Request): Response {
  if (!object) return errorResponse(404, "NoSuchKey", "The specified key does not exist.");
  const { bytes, type, modified } = object;
  const common = {
    "content-type": type,
    etag: etagOf(bytes),
    "last-modified": new Date(modified).toUTCString(),
  };
  if (method === "HEAD") {
    return new Response(null, { headers: { ...common, "content-length": String(bytes.length) } });
  }
  const range = /^bytes=(\d+)-(\d*)$/.exec(headers.get("range") ?? "");
  if (!range) return new Response(Buffer.from(bytes), { headers: common });
  const [from, to] = [Number(range[1]), range[2] === "" ? bytes.length - 1 : Number(range[2])];
  if (from >= bytes.length) return errorResponse(416, "InvalidRange", "not satisfiable");
  return new Response(Buffer.from(bytes.subarray(from, to + 1)), { status: 206, headers: common });
}

const etagOf = (bytes: Uint8Array): string => `"${createHash("md5").update(bytes).digest("hex")}"`;

const xml = (text: string, status = 200): Response =>
  new Response(`<?xml version="1.0" encoding="UTF-8"?>\n${text}`, {
    status,
    headers: { "content-type": "application/xml" },
  });

export const errorResponse = (status: number, code: string, message: string): Response =>
  xml(`<Error><Code>${code}</Code><Message>${message}</Message></Error>`, status);

const sha256 = (bytes: string | Uint8Array): string =>
  createHash("sha256").update(bytes).digest("hex");
const hmac = (key: string | Uint8Array, text: string): Buffer =>
  createHmac("sha256", key).update(text).digest();

/** Undefined if the signature is valid. */
function signatureProblem(
  request: Request,
  url: URL,
  body: Uint8Array,
  now: number,
): string | undefined {
  const { headers } = request;
  const query = url.searchParams;
  const isPresigned = query.has("X-Amz-Signature");
  const field = (name: string): string =>
    new RegExp(`${name}=([^,\\s]+)`).exec(headers.get("authorization") ?? "")?.[1] ?? "";
  const scope = isPresigned ? (query.get("X-Amz-Credential") ?? "") : field("Credential");
  const signedHeaders = isPresigned
    ? (query.get("X-Amz-SignedHeaders") ?? "")
    : field("SignedHeaders");
  const signature = isPresigned ? query.get("X-Amz-Signature") : field("Signature");
  const date = (isPresigned ? query.get("X-Amz-Date") : headers.get("x-amz-date")) ?? "";
  if (scope !== `${fakeS3Credentials.id}/${date.slice(0, 8)}/${region}/s3/aws4_request`) {
    return `wrong scope: ${scope}`;
  }
  const at = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3:$4:$5Z"));
  const validMs = isPresigned ? Number(query.get("X-Amz-Expires")) * 1000 : 900_000;
  if (!(Math.abs(now - at) <= validMs)) return "expired";
  const payload = isPresigned
    ? "UNSIGNED-PAYLOAD"
    : (headers.get("x-amz-content-sha256") ?? "missing");
  if (payload !== "UNSIGNED-PAYLOAD" && payload !== sha256(body)) return "wrong hash of the body";
  const encoded = (text: string): string =>
    encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  const canonicalQuery = [...query]
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join("&");
  const canonical = [
    request.method,
    url.pathname,
    canonicalQuery,
    ...signedHeaders.split(";").map((name) => `${name}:${headers.get(name)?.trim() ?? ""}`),
    "",
    signedHeaders,
    payload,
  ].join("\n");
  const [, day = "", ...rest] = scope.split("/");
  const text = ["AWS4-HMAC-SHA256", date, [day, ...rest].join("/"), sha256(canonical)].join("\n");
  const key = rest.reduce(hmac, hmac(`AWS4${fakeS3Credentials.secret}`, day));
  return hmac(key, text).toString("hex") === signature ? undefined : "wrong signature";
}
