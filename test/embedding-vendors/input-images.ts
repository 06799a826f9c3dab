/** Images of embeddings requests, and the bytes of requests that hold them, for the vendor tests. */
import { createHash } from "node:crypto";
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import type { InputImage, InputPart } from "../../server/upstream/contract.ts";
import { readAll } from "../chunks.ts";
import { fileOf } from "../laws/adapter-cases.ts";

export const inputImage = (bytes: Uint8Array, type = "image/png"): InputImage => ({
  file: fileOf("image", "image", type, bytes),
  width: 1,
  height: 1,
  hash: createHash("sha256").update(bytes).digest("base64"),
});

export const imagePart = (bytes: Uint8Array, type?: string): InputPart => ({
  kind: "image",
  image: inputImage(bytes, type),
});

/** The same request with its body as text, one character for each byte. */
export async function withTextBody(request: UpstreamRequest): Promise<UpstreamRequest> {
  const { body } = request;
  if (body === undefined || typeof body === "string") return request;
  const bytes = await readAll(body.open());
  if (bytes.length !== body.length) throw new Error("the body has another length than announced");
  return { ...request, body: bytes.toString("latin1") };
}
