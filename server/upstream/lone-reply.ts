/**
 * An answer with pictures in it from an upstream in one's own network, taken piece by piece as the socket gives it.
 * `fetch` hands over pieces of hundreds of kilobytes that become garbage faster than it is collected.
 */
import { Readable } from "node:stream";
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from "node:zlib";
import { GatewayError } from "../std/gateway-error.ts";
import type { Signal } from "../std/signal.ts";
import type { WireReply, WireRequest } from "./adapter.ts";
import { parseJson, withoutMark } from "./fetch-reply.ts";
import { callAlone, type LoneAnswer } from "./http/lone-call.ts";
import { tooLarge, unreachable } from "./unreachable.ts";

/** How long a connection may take; a call's own time is longer. */
const connectMs = 30_000;

/** Whether it can be carried so; `fetch` can carry anything. */
export const carriesAlone = ({ url, body, streams }: WireRequest): boolean =>
  streams === true && url.startsWith("http://") && typeof body !== "object";

export async function loneReply(
  request: WireRequest,
  signal: Signal,
  maxBytes: number,
): Promise<WireReply> {
  const { hostname, port } = new URL(request.url);
  const place = {
    address: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? 80 : Number(port),
    request: written(request),
  };
  const answer = await callAlone(place, { maxBytes, signal, connectMs }).catch((error) => {
    throw unreachable(error, signal, maxBytes);
  });
  return new LoneReply(answer, signal, maxBytes);
}

function written({ url, headers, body, method }: WireRequest): string {
  const { host, pathname, search } = new URL(url);
  const text = body as string | undefined;
  const lines = Object.entries({
    host,
    accept: "*/*",
    "user-agent": "vexel",
    ...headers,
    // Pictures are compressed already.
    "accept-encoding": "identity",
    connection: "close",
    ...(text !== undefined && { "content-length": String(Buffer.byteLength(text)) }),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const asked = method ?? (text === undefined ? "GET" : "POST");
  return `${asked} ${pathname}${search} HTTP/1.1\r\n${lines.join("")}\r\n${text ?? ""}`;
}

class LoneReply implements WireReply {
  readonly status: number;
  readonly headers: WireReply["headers"];
  readonly #answer: LoneAnswer;
  readonly #signal: Signal;
  readonly #max: number;

  constructor(answer: LoneAnswer, signal: Signal, max: number) {
    this.status = answer.status;
    this.headers = {
      get: (name) => answer.headers.get(name.toLowerCase()) ?? null,
      has: (name) => answer.headers.has(name.toLowerCase()),
    };
    this.#answer = answer;
    this.#signal = signal;
    this.#max = max;
  }

  async json(): Promise<unknown> {
    return parseJson(await this.text());
  }

  async text(maxBytes = this.#max): Promise<string> {
    return new TextDecoder().decode(await this.#whole(maxBytes));
  }

  async bytes(): Promise<Uint8Array> {
    return withoutMark(await this.#whole(this.#max));
  }

  chunks(): AsyncIterable<Uint8Array> {
    return this.#bounded(this.#max);
  }

  async #whole(maxBytes: number): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for await (const chunk of this.#bounded(maxBytes)) pieces.push(chunk);
    return Buffer.concat(pieces);
  }

  async *#bounded(max: number): AsyncGenerator<Uint8Array> {
    let seen = 0;
    try {
      for await (const chunk of plain(this.#answer)) {
        seen += chunk.length;
        if (seen > max) throw tooLarge(max);
        yield chunk;
      }
    } catch (error) {
      throw error instanceof GatewayError ? error : unreachable(error, this.#signal, max);
    }
  }
}

/** Some compress whatever they send, unasked. */
function plain(answer: LoneAnswer): AsyncIterable<Uint8Array> {
  const coding = answer.headers.get("content-encoding")?.toLowerCase() ?? "identity";
  const unfold = unfolding[coding];
  return unfold ? (Readable.from(answer.chunks()).compose(unfold()) as Readable) : answer.chunks();
}

const unfolding: Readonly<Record<string, (() => NodeJS.ReadWriteStream) | undefined>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};
