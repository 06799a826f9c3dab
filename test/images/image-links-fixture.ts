/**
 * Image links and the HTTP server that serves them, without the rest of a gateway. The clock moves only when a test
 * moves it.
 */

import { createCors } from "../../server/http/cors.ts";
import { listen } from "../../server/http/listen.ts";
import { MemoryShares } from "../../server/http/memory-shares.ts";
import { type Handlers, routes } from "../../server/http/routes.ts";
import { createImageLinks, type ImageLinks } from "../../server/wiring/image-links.ts";
import { temporaryFolder, unlimitedDisk, unlimitedStorage } from "../harness.ts";

export interface LinkServer {
  readonly links: ImageLinks;
  readonly url: string;
  readonly folder: string;
  /** Unix milliseconds; may be moved. */
  now: number;
  get(link: string, headers?: Record<string, string>, method?: string): Promise<Response>;
  /** As a process that starts again in the same folder. */
  again(): ImageLinks;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface LinkServerOptions {
  readonly ttlMs?: number;
  readonly maxBytes?: number;
}

export function startLinkServer({
  ttlMs = 3_600_000,
  maxBytes = 10_000_000,
}: LinkServerOptions = {}): LinkServer {
  const folder = temporaryFolder();
  const open = () =>
    createImageLinks({
      folder: folder.path,
      ttlMs,
      replayMs: 600_000,
      maxBytes,
      disk: unlimitedDisk,
      secrets: { secret: "", previous: [] },
      images: undefined,
      now: () => server.now,
    });
  const server = { now: Date.now() } as LinkServer;
  const links = open();
  const nothing = () => ({ status: 500, headers: {}, body: "not what this test is about" });
  const handlers = {
    ...Object.fromEntries(routes.map(({ name }) => [name, nothing])),
    imageFile: links.handler,
  } as Handlers;
  const edge = listen({
    maxConnections: 1000,
    jsonMemory: new MemoryShares(1e9),
    onConnectionsRefused: () => undefined,
    host: "127.0.0.1",
    port: 0,
    handlers,
    mounts: [],
    cors: createCors(""),
    maxBodyBytes: 1024,
    form: {
      folder: folder.path,
      memoryBytes: 1024,
      maxFileBytes: 1024,
      maxFormBytes: 1024,
      storage: unlimitedStorage(),
    },
    publicUrl: "",
    bodyMs: 1000,
    minBodyRate: 0,
    clock: () => performance.now(),
    report: () => undefined,
    onInternalError: (_, error) => {
      throw error;
    },
  });
  return Object.assign(server, {
    links,
    url: edge.url,
    folder: folder.path,
    get: (link: string, headers: Record<string, string> = {}, method = "GET") =>
      fetch(link, { headers: { "accept-encoding": "identity", ...headers }, method }),
    again: open,
    [Symbol.asyncDispose]: async () => {
      await edge.stop(true);
      folder[Symbol.dispose]();
    },
  });
}
