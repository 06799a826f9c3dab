/**
 * The live tail: requests as they end, for the viewers of the console, over server-sent events. Viewers with the same
 * filter form an audience: its requests are sampled, collected for a tenth of a second, and serialized once for all of
 * them. Without viewers, no request is observed. A viewer that reads too slowly loses batches, and gets the number of
 * lost requests. The stream of a user whose session has ended, or whose access has changed, ends within a second, on
 * every replica.
 */
import type { LiveBatch, LiveDropped, ShownRequest } from "../../../contract/admin.ts";
import type { RequestRecord } from "../../request/request-record.ts";
import type { RequestFilter } from "./request-filter.ts";
import { matchesRecord } from "./request-filter.ts";
import { showRequest } from "./show-request.ts";

type RequestObserver = (record: RequestRecord) => void;

export interface LiveTailOptions {
  /** Called with each request when it ends. The live tail adds and removes its own observer. */
  readonly observers?: Set<RequestObserver>;
  /** Calls `tick` at this interval until the returned function is called. */
  readonly repeat?: (tick: () => void, ms: number) => () => void;
  /** Collects the batches of the other workers of this gateway. If absent, the gateway has one process. */
  readonly others?: ((filter: RequestFilter) => Promise<readonly LiveBatch[]>) | undefined;
}

/** Whose stream it is. */
interface LiveOwner {
  /** The user's id, or another text for the admin token. */
  readonly user: string;
  /** Whether the user may still see the requests of the filter. */
  readonly isAllowed: () => Promise<boolean>;
}

const maxViewers = 100;
/** One user does not take the streams of all others. */
const maxViewersOfUser = 5;
/** The most requests of one batch: a person cannot read more. The others are only counted. */
const batchRequests = 20;
/** The most batches that are queued for a slow viewer. */
const maxQueued = 20;
const batchMs = 100;
/** A viewer connects again after this time. */
const viewerTicks = 600;
/** How often the access of a viewer is checked. */
const accessTicks = 10;
/**
 * A batch that no worker has collected for this many ticks is dropped: a worker with viewers collects at every tick.
 */
const uncollectedTicks = 20;
const heartbeatTicks = 150;
const encoder = new TextEncoder();
/** An SSE comment: it keeps the connection open, and detects a viewer that has disconnected. */
const heartbeat = encoder.encode(":\n\n");

export class LiveTail {
  readonly #options: Required<LiveTailOptions>;
  readonly #audiences = new Map<string, Audience>();
  /** Batches for the viewers of other workers, by filter. */
  readonly #collected = new Map<string, { readonly batch: Batch; ticksLeft: number }>();
  #stop: (() => void) | undefined;
  #viewers = 0;
  readonly #viewersOfUser = new Map<string, number>();
  #isClosed = false;

  constructor(options: LiveTailOptions = {}) {
    this.#options = {
      observers: new Set(),
      repeat: repeatUnref,
      others: undefined,
      ...options,
    };
  }

  get viewers(): number {
    return this.#viewers;
  }

  /** Called for every request when it ends, while there are viewers. */
  readonly publish = (record: RequestRecord): void => {
    for (const { batch } of this.#audiences.values()) batch.offer(record);
    for (const { batch } of this.#collected.values()) batch.offer(record);
  };

  /** For viewers of another worker: requests that have ended since the last call with this filter. */
  collect(filter: RequestFilter): LiveBatch {
    const key = JSON.stringify(filter);
    const batch = this.#collected.get(key)?.batch ?? new Batch(filter);
    this.#collected.set(key, { batch, ticksLeft: uncollectedTicks });
    this.#begin();
    return batch.take();
  }

  /** Undefined if there are as many viewers as allowed, in all or of this user, or the gateway shuts down. */
  open(filter: RequestFilter, owner: LiveOwner): LiveViewer | undefined {
    const { user } = owner;
    const viewersOfUser = this.#viewersOfUser.get(user) ?? 0;
    if (this.#viewers >= maxViewers || viewersOfUser >= maxViewersOfUser || this.#isClosed)
      return undefined;
    const key = JSON.stringify(filter);
    const audience = this.#audiences.get(key) ?? new Audience(new Batch(filter));
    this.#audiences.set(key, audience);
    const onClose = (): void => {
      this.#viewers--;
      this.#addViewerOf(user, -1);
      audience.viewers.delete(viewer);
      if (audience.viewers.size === 0) this.#audiences.delete(key);
      this.#endIfUnused();
    };
    const viewer = new LiveViewer(owner.isAllowed, onClose);
    audience.viewers.add(viewer);
    this.#viewers++;
    this.#addViewerOf(user, 1);
    this.#begin();
    return viewer;
  }

  /** Ends all streams: a shutdown waits for no viewer. */
  close(): void {
    this.#isClosed = true;
    for (const audience of this.#audiences.values()) {
      for (const viewer of audience.viewers) viewer.close();
    }
  }

  #addViewerOf(user: string, change: number): void {
    const count = (this.#viewersOfUser.get(user) ?? 0) + change;
    if (count === 0) this.#viewersOfUser.delete(user);
    else this.#viewersOfUser.set(user, count);
  }

  #begin(): void {
    this.#stop ??= this.#options.repeat(this.#tick, batchMs);
    this.#options.observers.add(this.publish);
  }

  #endIfUnused(): void {
    if (this.#viewers > 0 || this.#collected.size > 0) return;
    this.#options.observers.delete(this.publish);
    this.#stop?.();
    this.#stop = undefined;
  }

  readonly #tick = (): void => {
    for (const audience of this.#audiences.values()) {
      audience.flush();
      if (this.#options.others) void audience.collect(this.#options.others);
    }
    for (const [key, entry] of this.#collected)
      if (--entry.ticksLeft <= 0) this.#collected.delete(key);
    this.#endIfUnused();
  };
}

/** The requests that match a filter and have ended since the last batch. */
class Batch {
  readonly filter: RequestFilter;
  #requests: ShownRequest[] = [];
  #skipped = 0;

  constructor(filter: RequestFilter) {
    this.filter = filter;
  }

  offer(record: RequestRecord): void {
    const { caller } = record;
    if (!caller || !matchesRecord(this.filter, record)) return;
    if (this.#requests.length >= batchRequests) this.#skipped++;
    else this.#requests.push(showRequest(record.ledgerRow(caller), caller.name));
  }

  /** Adds the batch of another worker. */
  add({ data, skipped }: LiveBatch): void {
    const free = Math.max(0, batchRequests - this.#requests.length);
    this.#requests.push(...data.slice(0, free));
    this.#skipped += skipped + Math.max(0, data.length - free);
  }

  take(): LiveBatch {
    const batch: LiveBatch = { data: this.#requests, skipped: this.#skipped };
    this.#requests = [];
    this.#skipped = 0;
    return batch;
  }
}

/** The viewers with the same filter. */
class Audience {
  readonly viewers = new Set<LiveViewer>();
  readonly batch: Batch;
  #isCollecting = false;

  constructor(batch: Batch) {
    this.batch = batch;
  }

  /** Serializes the batch once and gives it to every viewer. */
  flush(): void {
    const taken = this.batch.take();
    const count = taken.data.length + taken.skipped;
    const bytes = count > 0 ? encodeEvent("requests", taken) : undefined;
    for (const viewer of this.viewers) viewer.tick(bytes, count);
  }

  /** Takes the requests of the other workers into the next batch. */
  async collect(others: NonNullable<LiveTailOptions["others"]>): Promise<void> {
    if (this.#isCollecting) return;
    this.#isCollecting = true;
    for (const batch of await others(this.batch.filter)) this.batch.add(batch);
    this.#isCollecting = false;
  }
}

/** One open stream. */
class LiveViewer {
  readonly #isAllowed: () => Promise<boolean>;
  readonly #onClose: () => void;
  readonly #queue: Uint8Array[] = [];
  #ticksLeft = viewerTicks;
  #idleTicks = 0;
  #dropped = 0;
  #wake: (() => void) | undefined;
  #isClosed = false;

  constructor(isAllowed: () => Promise<boolean>, onClose: () => void) {
    this.#isAllowed = isAllowed;
    this.#onClose = onClose;
  }

  /** `bytes`: the serialized batch, undefined if it is empty. `count`: the number of its requests. */
  tick(bytes: Uint8Array | undefined, count: number): void {
    if (bytes && this.#queue.length >= maxQueued) this.#dropped += count;
    else if (bytes) this.#push(bytes);
    else if (++this.#idleTicks >= heartbeatTicks && this.#queue.length === 0) this.#push(heartbeat);
    if (--this.#ticksLeft <= 0) this.close();
    else if (this.#ticksLeft % accessTicks === 0) void this.#checkAccess();
  }

  async #checkAccess(): Promise<void> {
    if (await this.#isAllowed().catch(() => false)) return;
    // Nothing that is queued is sent any more.
    this.#queue.length = 0;
    this.close();
  }

  /** The next bytes of the stream. Undefined if the stream has ended. A viewer has one reader. */
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
