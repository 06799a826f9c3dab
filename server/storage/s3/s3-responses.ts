/**
 * Stored responses in an object store: one object for each body, and one for each name, with the metadata and the id of
 * the body.
 */
import { readWithin } from "../../lib/timers.ts";
import type { ResponseMetadata } from "../ports/response-store.ts";
import type { SharedResponses } from "../ports/shared-responses.ts";
import type { ObjectStore } from "./object-store.ts";

interface S3ResponsesOptions {
  readonly objects: ObjectStore;
  readonly ttlMs: number;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** The longest time between two chunks of a body. */
  readonly stallMs?: number;
}

interface ResponseObjectEntry extends ResponseMetadata {
  readonly id: string;
  readonly length: number;
  readonly at: number;
}

const folder = "responses/";
const bodyKey = (id: string): string => `${folder}${id}.body`;
const nameKey = (name: string): string => `${folder}${name}.json`;
/** An object is deleted a little after it expires, as a request may still be reading it. */
const graceMs = 60_000;

export const createS3Responses = ({
  objects,
  ttlMs,
  now,
  stallMs = 30_000,
}: S3ResponsesOptions): SharedResponses => ({
  async find(name) {
    const text = await objects.readText(nameKey(name));
    if (text === undefined) return undefined;
    const entry = parseEntry(text);
    if (!entry || entry.at + ttlMs <= now()) return undefined;
    const { id, length, at: _at, ...metadata } = entry;
    const body = await objects.find(bodyKey(id));
    if (body?.size !== length) return undefined;
    return { ...metadata, length, open: () => readWithin(body.content.stream(), stallMs) };
  },

  copy: (id, response) => objects.write(bodyKey(id), response.open(), "application/octet-stream"),

  async name(id, length, names, { requestId, fingerprint, headers, isAbandoned }) {
    const entry: ResponseObjectEntry = {
      requestId,
      fingerprint,
      headers,
      ...(isAbandoned && { isAbandoned }),
      id,
      length,
      at: now(),
    };
    for (const name of names) await objects.writeText(nameKey(name), JSON.stringify(entry));
  },

  /** By the clock of the object store, which may differ from this machine's by up to the grace period. */
  async sweep() {
    await objects.sweep(folder, ({ modifiedAt }) => modifiedAt + ttlMs + graceMs <= now());
  },
});

/** Undefined: the entry is damaged, which counts as missing. */
function parseEntry(text: string): ResponseObjectEntry | undefined {
  try {
    return JSON.parse(text) as ResponseObjectEntry;
  } catch {
    return undefined;
  }
}
