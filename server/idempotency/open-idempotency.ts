/** Opens the idempotency store: responses in the data folder, and their copies in the object store. */
import { join } from "node:path";
import { logReason } from "../lib/gateway-error.ts";
import type { Log } from "../lib/log.ts";
import { repeat } from "../lib/timers.ts";
import { ResponseFiles, type ResponseFilesOptions } from "../storage/files/response-files.ts";
import type { RequestClaims } from "../storage/redis/request-claims.ts";
import type { ObjectStore } from "../storage/s3/object-store.ts";
import { S3Responses } from "../storage/s3/s3-responses.ts";
import { IdempotencyStore } from "./idempotency-store.ts";

interface OpenIdempotencyOptions extends Pick<ResponseFilesOptions, "disk" | "maxBytes" | "ttlMs"> {
  /** The data folder. */
  readonly folder: string;
  /** Has copies of the responses, which all replicas replay. Undefined if responses are in the data folder only. */
  readonly objects: ObjectStore | undefined;
  /** The claims that replicas share. Undefined if this is the only replica. */
  readonly claims: Pick<RequestClaims, "claim"> | undefined;
  readonly log: Pick<Log, "warn">;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly resources: AsyncDisposableStack;
}

const sweepEveryMs = 60_000;

export function openIdempotency(options: OpenIdempotencyOptions): IdempotencyStore {
  const { maxBytes, ttlMs, disk, objects, log, now } = options;
  const folder = join(options.folder, "responses");
  const local = new ResponseFiles({ folder, ttlMs, maxBytes, disk, now });
  const reportUnshared = (error: unknown) =>
    log.warn("response-not-shared", { reason: logReason(error) });
  const shared = objects && new S3Responses({ objects, local, ttlMs, now, reportUnshared });
  const stopSweeps = repeat({ everyMs: sweepEveryMs, isImmediate: true }, async () => {
    await local.sweep();
    // While the object store is unreachable, expired responses wait for the next sweep.
    await shared?.sweep();
  });
  options.resources.defer(() => void stopSweeps());
  return new IdempotencyStore(
    shared ?? local,
    (error) => log.warn("response-not-stored", { reason: logReason(error) }),
    options.claims,
  );
}
