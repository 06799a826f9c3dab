/**
 * Stored responses that all replicas replay. A response is written to the data folder, as without an object store, and
 * then copied: one object for the body, and one for each name, with the metadata and the id of the body. While the
 * object store is unreachable, only the replica that stored a response finds it; other lookups fail, so that no request
 * is sent whose response may exist.
 */
import { randomUUID } from "node:crypto";
import { readWithin } from "../../lib/timers.ts";
import type {
  ResponseMetadata,
  ResponseStore,
  ResponseWriter,
  StoredResponse,
} from "../ports/response-store.ts";
import type { ObjectStore } from "./object-store.ts";

interface S3ResponsesOptions {
  readonly objects: ObjectStore;
  /** The responses in the data folder. */
  readonly local: ResponseStore;
  readonly ttlMs: number;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** A response is in the data folder only. */
  readonly reportUnshared: (error: unknown) => void;
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

export class S3Responses implements ResponseStore {
  readonly #options: S3ResponsesOptions;

  constructor(options: S3ResponsesOptions) {
    this.#options = options;
  }

  ensureSpace(owner: string): void {
    this.#options.local.ensureSpace(owner);
  }

  begin(owner: string): ResponseWriter {
    const { local, reportUnshared } = this.#options;
    const writer = local.begin(owner);
    return {
      ...writer,
      commit: async (names, metadata) => {
        await writer.commit(names, metadata);
        await this.#share(names).catch(reportUnshared);
      },
    };
  }

  /** Rejects with GatewayError if the response is not in the data folder and the object store is unreachable. */
  async find(name: string): Promise<StoredResponse | undefined> {
    return (await this.#options.local.find(name)) ?? this.#findShared(name);
  }

  /** By the clock of the object store, which may differ from this machine's by up to the grace period. */
  async sweep(): Promise<void> {
    const { objects, ttlMs, now } = this.#options;
    await objects.sweep(folder, ({ modifiedAt }) => modifiedAt + ttlMs + graceMs <= now());
  }

  async #share(names: readonly string[]): Promise<void> {
    const { objects, local, now } = this.#options;
    const stored = await local.find(names[0] ?? "");
    if (!stored) throw new Error("a response that was just stored is not in the data folder");
    const { requestId, fingerprint, headers, isAbandoned, length } = stored;
    const id = randomUUID();
    await objects.write(bodyKey(id), stored.open(), "application/octet-stream", length);
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
  }

  async #findShared(name: string): Promise<StoredResponse | undefined> {
    const { objects, ttlMs, now } = this.#options;
    const text = await objects.readText(nameKey(name));
    const entry = text === undefined ? undefined : parseEntry(text);
    if (!entry || entry.at + ttlMs <= now()) return undefined;
    const { id, length, at: _at, ...metadata } = entry;
    const body = await objects.find(bodyKey(id));
    if (body?.size !== length) return undefined;
    const open = () => readWithin(body.content.stream(), objects.timeoutMs);
    return { ...metadata, length, open };
  }
}

/** Undefined if the entry is damaged, which counts as missing. */
function parseEntry(text: string): ResponseObjectEntry | undefined {
  try {
    return JSON.parse(text) as ResponseObjectEntry;
  } catch {
    return undefined;
  }
}
