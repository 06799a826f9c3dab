/** Opens the idempotency store: responses in the data folder, and responses that replicas share. */
import { join } from "node:path";
import { logReason } from "../lib/gateway-error.ts";
import type { Log } from "../lib/log.ts";
import { repeat } from "../lib/timers.ts";
import { ResponseFiles, type ResponseFilesOptions } from "../storage/files/response-files.ts";
import type { SharedResponses } from "../storage/ports/shared-responses.ts";
import type { RequestClaims } from "../storage/redis/request-claims.ts";
import { SharedResponseStore } from "../storage/shared-response-store.ts";
import { IdempotencyStore } from "./idempotency-store.ts";

interface OpenIdempotencyOptions extends Pick<ResponseFilesOptions, "disk" | "maxBytes" | "ttlMs"> {
  /** The data folder. */
  readonly folder: string;
  /** The responses that all replicas replay. Undefined: responses are in the data folder only. */
  readonly shared: SharedResponses | undefined;
  /** The claims that replicas share. Undefined: this is the only replica. */
  readonly claims: Pick<RequestClaims, "claim"> | undefined;
  readonly log: Pick<Log, "warn">;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly resources: AsyncDisposableStack;
}

const sweepEveryMs = 60_000;

export function openIdempotency(options: OpenIdempotencyOptions): IdempotencyStore {
  const { maxBytes, ttlMs, disk, shared, log, now, clock } = options;
  const folder = join(options.folder, "responses");
  const local = new ResponseFiles({ folder, ttlMs, maxBytes, disk, now });
  const reportUnshared = (error: unknown) =>
    log.warn("response-not-shared", { reason: logReason(error) });
  const store = shared && new SharedResponseStore({ local, shared, clock, reportUnshared });
  const stopSweeps = repeat({ everyMs: sweepEveryMs, isImmediate: true }, async () => {
    await local.sweep();
    // While the shared storage is unreachable, expired responses wait for the next sweep.
    await shared?.sweep();
  });
  options.resources.defer(() => void stopSweeps());
  return new IdempotencyStore(
    store ?? local,
    (error) => log.warn("response-not-stored", { reason: logReason(error) }),
    options.claims,
  );
}
