/** The gateway's HTTP listener with the handlers of a test, and no gateway behind it. */
import { createCors } from "../../server/http/cors.ts";
import { type Listener, type ListenOptions, listen } from "../../server/http/listen.ts";
import type { Handlers } from "../../server/http/routes.ts";
import { KeyShares } from "../../server/lib/key-shares.ts";
import { MemoryBudget } from "../../server/temp-storage/request-temp.ts";
import { unlimitedStorage } from "../harness.ts";

/** For tests that request only routes with a handler, and send no forms. */
export const listenWith = (
  handlers: Partial<Handlers>,
  options: Partial<ListenOptions>,
): Listener =>
  listen({
    host: "127.0.0.1",
    port: 0,
    reusePort: false,
    replica: "replica-1",
    handlers: handlers as Handlers,
    mounts: [],
    cors: createCors(""),
    maxBodyBytes: 1024,
    jsonMemory: new KeyShares(1e9),
    form: {
      folder: "/nonexistent",
      memory: new MemoryBudget(0),
      maxFileBytes: 1024,
      maxFormBytes: 1024,
      storage: unlimitedStorage(),
    },
    publicUrl: "",
    trustedProxies: "",
    bodyMs: 60_000,
    minBodyRate: 0,
    maxConnections: 1000,
    onConnectionsRefused: () => undefined,
    clock: () => performance.now(),
    report: () => undefined,
    onInternalError: (_, error) => {
      throw error;
    },
    ...options,
  });
