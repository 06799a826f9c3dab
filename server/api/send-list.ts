/**
 * Sends a list whose JSON may be large. The most bytes that it may have are reserved as response memory before it is
 * read from the store, and the bytes that it has are reserved until the client has read them: clients that do not read
 * their lists hold bounded memory. Its JSON is written in steps, and other requests are served between them.
 */
import { json } from "../http/route.ts";
import type { BorrowedBytes } from "../lib/borrowed-bytes.ts";
import { nextTurn } from "../lib/tasks.ts";
import type { IncomingRequest, OutgoingResponse } from "../request/http-types.ts";

export interface ListMemory {
  /** The class `ResponseMemory`. */
  readonly responseMemory: {
    reserve(request: {
      readonly keyId: string;
      readonly bytes: number;
      readonly signal: () => AbortSignal;
      readonly timeoutMs: number;
    }): Promise<void>;
    release(keyId: string, bytes: number): void;
  };
}

interface List {
  readonly data: readonly unknown[];
}

interface ListRequest {
  /** The API key whose share of the memory it takes. */
  readonly keyId: string;
  /** The most bytes of the JSON. */
  readonly maxBytes: number;
  readonly read: () => Promise<List>;
}

/** Below this, a list is not counted: it is as small as other responses. */
const smallBytes = 64 * 1024;
const waitMs = 30_000;

export type SendList = (
  incoming: Pick<IncomingRequest, "signal">,
  request: ListRequest,
) => Promise<OutgoingResponse>;

/** The returned function rejects with GatewayError if the memory does not become free in time. */
export const createSendList =
  ({ responseMemory }: ListMemory): SendList =>
  async (incoming, { keyId, maxBytes, read }) => {
    if (maxBytes < smallBytes) return json(await read());
    const signal = (): AbortSignal => incoming.signal;
    await responseMemory.reserve({ keyId, bytes: maxBytes, signal, timeoutMs: waitMs });
    let reserved = maxBytes;
    const shrinkTo = (bytes: number): void => {
      const released = reserved - bytes;
      reserved = bytes;
      if (released > 0) responseMemory.release(keyId, released);
    };
    try {
      const bytes = Buffer.from(await inSteps(await read()));
      shrinkTo(Math.min(bytes.length, maxBytes));
      return {
        status: 200,
        headers: { "content-type": "application/json" },
        body: {
          length: bytes.length,
          open: () => inChunks(bytes),
          isInMemory: true,
          close: async () => shrinkTo(0),
        },
      };
    } catch (error) {
      shrinkTo(0);
      throw error;
    }
  };

/** As JSON.stringify. */
async function inSteps({ data, ...others }: List): Promise<string> {
  const entries: string[] = [];
  let stepBytes = 0;
  for (const entry of data) {
    const text = JSON.stringify(entry);
    entries.push(text);
    stepBytes += text.length;
    if (stepBytes < smallBytes) continue;
    await nextTurn();
    stepBytes = 0;
  }
  const start = JSON.stringify(others).slice(0, -1);
  return `${start}${start === "{" ? "" : ","}"data":[${entries.join(",")}]}`;
}

/** The transport counts what follows a chunk as unread, so that a client that reads nothing is reset. */
async function* inChunks(bytes: Uint8Array): AsyncGenerator<BorrowedBytes> {
  for (let at = 0; at < bytes.length; at += smallBytes) {
    yield bytes.subarray(at, at + smallBytes);
  }
}
