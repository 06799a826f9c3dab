/**
 * The fingerprint of an image request: a hash of every field, in any order (unless they are large), and every byte of
 * every file.
 */
import { createHash, type Hash } from "node:crypto";
import { isLargeJson } from "../lib/is-large-json.ts";
import type { Operation } from "../request/operation.ts";
import type { EditQuery, FilePart, GenerationQuery, ImageSource } from "../upstream/contract.ts";

export async function fingerprintOf(
  operation: Operation,
  query: GenerationQuery | EditQuery,
): Promise<string> {
  const hash = createHash("sha256");
  const { model, prompt, stream, options, extraFields } = query;
  // Sorting large extra fields would block the event loop. A client that repeats a request sends them in the same
  // order.
  const extra = isLargeJson(extraFields) ? extraFields : sortFields(extraFields);
  hash.update(JSON.stringify([operation, model, prompt, stream, sortFields(options), extra]));
  if ("images" in query) {
    const { images, mask, files } = query;
    for (const source of mask ? [...images, mask] : images) await addSource(hash, source);
    hash.update(JSON.stringify([images.length, mask !== undefined]));
    for (const file of files) await addFile(hash, file);
  }
  return hash.digest("hex");
}

async function addSource(hash: Hash, source: ImageSource): Promise<void> {
  if (source.kind === "file") return addFile(hash, source.file);
  hash.update(JSON.stringify(source));
}

async function addFile(hash: Hash, file: FilePart): Promise<void> {
  hash.update(JSON.stringify([file.field.replace(/\[.*$/, ""), file.size]));
  for await (const chunk of file.stream()) hash.update(chunk);
}

/** Sorts members by name at every depth: their order in a request has no meaning. */
function sortFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortFields);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, entry]) => [name, sortFields(entry)]);
}
