/**
 * Image links and the HTTP server that serves them, without the rest of a gateway. The clock moves only when a test
 * moves it.
 */

import { createImageFiles } from "../../server/api/image-files.ts";
import { type ImageLinks, openImageLinks } from "../../server/images/open-image-links.ts";
import { ByteTurns } from "../../server/lib/byte-turns.ts";
import { temporaryFolder } from "../harness.ts";
import { listenWith } from "../http/listen-fixture.ts";
import { unlimitedDisk } from "../unlimited-disk.ts";

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

interface LinkServerOptions {
  readonly ttlMs?: number;
  readonly maxBytes?: number;
}

export function startLinkServer({
  ttlMs = 3_600_000,
  maxBytes = 10_000_000,
}: LinkServerOptions = {}): LinkServer {
  const folder = temporaryFolder();
  const open = () =>
    openImageLinks({
      folder: folder.path,
      ttlMs,
      replayMs: 600_000,
      jobMs: 0,
      maxBytes,
      disk: unlimitedDisk,
      secrets: { secret: "", previous: [] },
      images: undefined,
      now: () => server.now,
    });
  const server = { now: Date.now() } as LinkServer;
  const links = open();
  const edge = listenWith(
    {
      imageFile: createImageFiles({
        store: links,
        check: links.check,
        turns: new ByteTurns(() => 0),
        now: () => server.now,
      }),
    },
    {},
  );
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
