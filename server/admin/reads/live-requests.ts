/**
 * The live tail: requests as they end, for the viewers of the console. Viewers with the same filter form an audience:
 * its requests are sampled, collected for a tenth of a second, and serialized once for all of them. Without viewers, a
 * request costs one comparison. A viewer that reads too slowly loses batches, and gets the number of lost requests.
 */
import type {
  LiveRequests as LiveBatch,
  LiveDropped,
  ShownRequest,
} from "../../../contract/admin.ts";
import type { RequestRecord } from "../../request/request-record.ts";
import type { RequestFilter } from "./request-filter.ts";
import { matchesRecord } from "./request-filter.ts";
import { showRequest } from "./show-request.ts";

export interface LiveRequestsOptions {
  /** Calls `tick` at this interval until the returned function is called. */
  readonly repeat?: (tick: () => void, ms: number) => () => void;
  readonly maxViewers?: number;
  /** Requests of one batch. More per batch than a person can read are left out. */
  readonly batchRequests?: number;
  /** Batches that wait for a slow viewer. */
  readonly maxQueued?: number;
  /** A viewer connects again after this time, so that a session that has ended is noticed. */
  readonly viewerMs?: number;
}

const batchMs = 100;
const heartbeatTicks = 150;
const encoder = new TextEncoder();
/** A comment: it keeps the connection open, and shows whether the viewer is still there. */
const heartbeat = encoder.encode(":\n\n");

export class LiveRequests {
  readonly #options: Required<LiveRequestsOptions>;
  readonly #audiences = new Map<string, Audience>();
  #stop: (() => void) | undefined;
  #viewers = 0;
  #isClosed = false;

  constructor(options: LiveRequestsOptions = {}) {
    this.#options = {
      repeat: repeatUnref,
      maxViewers: 20,
      batchRequests: 20,
      maxQueued: 20,
      viewerMs: 60_000,
      ...options,
    };
  }

  get viewers(): number {
    return this.#viewers;
  }

  /** Called for every request when it ends. */
  publish(record: RequestRecord): void {
    if (this.#audiences.size === 0) return;
    for (const audience of this.#audiences.values()) audience.offer(record);
  }

  /** Undefined: there are as many viewers as allowed, or the gateway shuts down. */
  open(filter: RequestFilter): LiveViewer | undefined {
    const { maxViewers, batchRequests, maxQueued, viewerMs, repeat } = this.#options;
    if (this.#viewers >= maxViewers || this.#isClosed) return undefined;
    const key = JSON.stringify(filter);
    const audience = this.#audiences.get(key) ?? new Audience(filter, batchRequests);
    this.#audiences.set(key, audience);
    const viewer = new LiveViewer(maxQueued, Math.ceil(viewerMs / batchMs), () => {
      this.#viewers--;
      audience.viewers.delete(viewer);
      if (audience.viewers.size === 0) this.#audiences.delete(key);
      if (this.#viewers === 0) this.#end();
    });
    audience.viewers.add(viewer);
    this.#viewers++;
    this.#stop ??= repeat(this.#tick, batchMs);
    return viewer;
  }

  /** Ends all streams: a shutdown waits for no viewer. */
  close(): void {
    this.#isClosed = true;
    for (const audience of this.#audiences.values()) {
      for (const viewer of audience.viewers) viewer.close();
    }
  }

  #end(): void {
    this.#stop?.();
    this.#stop = undefined;
  }

  readonly #tick = (): void => {
    for (const audience of this.#audiences.values()) audience.flush();
  };
}

/** The viewers with the same filter. */
class Audience {
  readonly viewers = new Set<LiveViewer>();
  readonly #filter: RequestFilter;
  readonly #batchRequests: number;
  #requests: ShownRequest[] = [];
  #skipped = 0;

  constructor(filter: RequestFilter, batchRequests: number) {
    this.#filter = filter;
    this.#batchRequests = batchRequests;
  }

  offer(record: RequestRecord): void {
    const { caller } = record;
    if (!caller || !matchesRecord(this.#filter, record)) return;
    if (this.#requests.length >= this.#batchRequests) this.#skipped++;
    else this.#requests.push(showRequest(record.ledgerRow(caller), caller.name));
  }

  /** Serializes the batch once and gives it to every viewer. */
  flush(): void {
    const count = this.#requests.length + this.#skipped;
    let bytes: Uint8Array | undefined;
    if (count > 0) {
      const batch: LiveBatch = { data: this.#requests, skipped: this.#skipped };
      bytes = encodeEvent("requests", batch);
      this.#requests = [];
      this.#skipped = 0;
    }
    for (const viewer of this.viewers) viewer.tick(bytes, count);
  }
}

/** One open stream. */
export class LiveViewer {
  readonly #maxQueued: number;
  readonly #onClose: () => void;
  readonly #queue: Uint8Array[] = [];
  #ticksLeft: number;
  #idleTicks = 0;
  #dropped = 0;
  #wake: (() => void) | undefined;
  #isClosed = false;

  constructor(maxQueued: number, ticks: number, onClose: () => void) {
    this.#maxQueued = maxQueued;
    this.#ticksLeft = ticks;
    this.#onClose = onClose;
  }

  /** `bytes`: the batch of this moment, if there is one. `count`: its requests. */
  tick(bytes: Uint8Array | undefined, count: number): void {
    if (bytes && this.#queue.length >= this.#maxQueued) this.#dropped += count;
    else if (bytes) this.#push(bytes);
    else if (++this.#idleTicks >= heartbeatTicks && this.#queue.length === 0) this.#push(heartbeat);
    if (--this.#ticksLeft <= 0) this.close();
  }

  /** The next bytes of the stream. Undefined: it has ended. There is one reader. */
  async next(): Promise<Uint8Array | undefined> {
    while (this.#queue.length === 0 && !this.#isClosed) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#dropped > 0 && this.#queue.length > 0) {
      const dropped: LiveDropped = { count: this.#dropped };
      this.#dropped = 0;
      return encodeEvent("dropped", dropped);
    }
    return this.#queue.shift();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onClose();
    this.#wake?.();
  }

  #push(bytes: Uint8Array): void {
    this.#idleTicks = 0;
    this.#queue.push(bytes);
    this.#wake?.();
    this.#wake = undefined;
  }
}

const encodeEvent = (event: string, data: unknown): Uint8Array =>
  encoder.encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);

function repeatUnref(tick: () => void, ms: number): () => void {
  const timer = setInterval(tick, ms);
  timer.unref();
  return () => clearInterval(timer);
}
