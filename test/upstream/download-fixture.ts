/** A fake Internet: the test chooses the addresses of each name, and every connection goes to one local server. */
import { expect } from "bun:test";
import type { ErrorKind } from "../../contract/errors.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { createRequestTemp } from "../../server/temp-storage/request-temp.ts";
import type { CollectedImage } from "../../server/upstream/collect-image.ts";
import { createDownload, type DownloadRequest } from "../../server/upstream/download/download.ts";
import { temporaryFolder } from "../harness.ts";
import { type RawServer, type ReceivedRequest, rawServer } from "./http-client-fixture.ts";

/** Public addresses, which the SSRF guard allows. */
export const publicAddress = "93.184.215.14";
export const otherAddress = "2606:2800:21f:cb07:6820:80da:af6b:8b2c";

export const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
/** Starts with a PNG signature, and is long. */
export const largePng = Buffer.concat([png.subarray(0, 8), Buffer.alloc(700_000, "picture ")]);

/** An HTTP response, byte for byte. */
export const response = (
  body: Uint8Array | string = png,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): Buffer => {
  const lines = Object.entries({ "content-length": String(body.length), ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} X\r\n${head}\r\n`), Buffer.from(body)]);
};

export const redirect = (location: string): Buffer =>
  response("", { status: 302, headers: { location } });

interface DownloadSetupOptions {
  /** The addresses of each name, one list for each lookup; the last list is repeated. */
  readonly names?: Readonly<Record<string, readonly (readonly string[])[]>>;
  /** Handles a request. A returned Buffer is sent, and the connection is closed. */
  readonly serve: (request: ReceivedRequest, path: string) => Buffer | undefined;
  readonly maxBytes?: number;
  readonly timeoutMs?: number;
  readonly trusted?: readonly string[];
  /** Addresses that refuse connections. */
  readonly refusing?: readonly string[];
}

interface DownloadSetup {
  readonly server: RawServer;
  /** Every address that was connected to, and every name that was looked up, in order. */
  readonly connected: string[];
  readonly lookedUp: string[];
  get(url: string, call?: Partial<DownloadRequest>): Promise<CollectedImage>;
  [Symbol.asyncDispose](): Promise<void>;
}

export function startDownloadSetup(options: DownloadSetupOptions): DownloadSetup {
  const {
    serve,
    names = {},
    maxBytes = 1024 * 1024,
    timeoutMs = 5000,
    trusted = [],
    refusing = [],
  } = options;
  const folder = temporaryFolder();
  const temp = createRequestTemp(folder.path);
  const connected: string[] = [];
  const lookedUp: string[] = [];
  const server = rawServer((request) => {
    const bytes = serve(request, request.head.split(" ")[1] ?? "");
    if (bytes) request.socket.end(bytes);
  });
  const { port } = new URL(server.url);
  const connect: typeof Bun.connect = (options) => {
    if (!("hostname" in options)) throw new Error("Only addresses are connected to.");
    connected.push(options.hostname);
    const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    if (refusing.includes(options.hostname)) return Promise.reject(refused);
    return Bun.connect({ ...options, hostname: "127.0.0.1", port: Number(port) });
  };
  const download = createDownload({
    maxBytes,
    timeoutMs,
    trusted,
    connect,
    resolve: async (host) => {
      const times = lookedUp.filter((name) => name === host).length;
      lookedUp.push(host);
      const lists = names[host] ?? (host.endsWith(".example") ? [[publicAddress]] : undefined);
      if (!lists) throw Object.assign(new Error("no such name"), { code: "ENOTFOUND" });
      return lists[Math.min(times, lists.length - 1)] ?? [];
    },
  });
  return {
    server,
    connected,
    lookedUp,
    get: (url, call) =>
      download(url, {
        signal: new AbortController().signal,
        temp,
        origin: "upstream",
        ...call,
      }),
    [Symbol.asyncDispose]: async () => {
      server[Symbol.dispose]();
      await temp.clear();
      folder[Symbol.dispose]();
    },
  };
}

/** Expects an error of this kind that does not reveal the address behind the link. */
export async function expectError(
  getting: Promise<unknown>,
  kind: ErrorKind,
  message: RegExp,
): Promise<GatewayError> {
  const error = await getting.then(
    () => {
      throw new Error("It was fetched.");
    },
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof GatewayError)) throw error;
  expect(error.kind).toBe(kind);
  expect(error.message).toMatch(message);
  expect(error.message).not.toMatch(/example|secret|\d+\.\d+\.\d+|::/);
  return error;
}

/** The origin of a link that a client sent in this request field. */
export const fromClient = { origin: { param: "images[0].image_url" } } as const;
