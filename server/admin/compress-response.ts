/**
 * Compresses the responses of reads, JSON and CSV: usage by hour of a month takes a twentieth of its bytes. zlib runs on
 * another thread, so that no response holds the event loop. Never a response with a key or token, whose length would
 * tell an attacker of a guess, and never an event stream.
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { acceptsGzip } from "../http/accepts-gzip.ts";
import type { AdminOperation } from "./admin-route.ts";

const gzipped = promisify(gzip);

/** Smaller ones fit into one packet anyway. */
const minBytes = 1024;
const textTypes = /^(?:application\/json|text\/csv)/;

type CompressedOperation = Pick<AdminOperation, "method" | "hasSecret">;

export async function compressResponse(
  response: Response,
  { method, hasSecret }: CompressedOperation,
  acceptEncoding: string | undefined,
): Promise<Response> {
  const type = response.headers.get("content-type") ?? "";
  const { body, status, headers } = response;
  if (method !== "GET" || hasSecret || !body || !textTypes.test(type)) return response;
  headers.set("vary", "accept-encoding");
  if (headers.has("content-encoding") || !acceptsGzip(acceptEncoding ?? null)) return response;
  if (type.startsWith("text/csv")) {
    headers.set("content-encoding", "gzip");
    return new Response(body.pipeThrough(new CompressionStream("gzip")), { status, headers });
  }
  const bytes = await response.bytes();
  if (bytes.length < minBytes) return new Response(bytes, { status, headers });
  headers.set("content-encoding", "gzip");
  return new Response(await gzipped(bytes), { status, headers });
}
