/**
 * Job queue of a worker pool with fair queueing between API keys: the key that has used the least worker time recently
 * is next, so slow jobs of one key do not starve quick jobs of another. Large jobs run one at a time, to bound memory.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import { throwIfAborted } from "../lib/tasks.ts";

interface JobQueueOptions {
  readonly maxRunning: number;
  /** Queued jobs of all keys together. */
  readonly maxWaiting: number;
  /** Queued jobs of one key. Absent: `maxWaiting`. */
  readonly maxWaitingOfKey?: number;
  /** The worker's name in error messages. */
  readonly name: string;
  /** Milliseconds, monotonic. Absent: all jobs count alike, and keys take turns. */
  readonly clock?: () => number;
}

interface QueuedWork {
  readonly signal: AbortSignal;
  readonly isLarge?: boolean;
  /** The API key whose time it uses. */
  readonly key?: string;
}

interface JobQueue {
  run<T>(turn: QueuedWork, work: () => Promise<T>): Promise<T>;
}

interface QueuedJob {
  readonly isLarge: boolean;
  readonly account: KeyUsage;
  readonly number: number;
  start: number;
  readonly resume: () => void;
  readonly refuse: (error: GatewayError) => void;
}

/** Worker time and queued jobs of one key. */
interface KeyUsage {
  readonly key: string;
  readonly waiting: QueuedJob[];
  readonly running: Set<QueuedJob>;
  /** Worker time used, in milliseconds. A key that returns starts no lower than the keys in service (virtual time). */
  usedMs: number;
  /** The moving average of its job durations. */
  meanMs: number;
  /** When its last job ended. */
  idleSince: number;
}

/** A key whose jobs usually take longer leaves one worker to the other keys. */
const slowMs = 300;
/** How long a key without jobs counts as active. */
const accountTtlMs = 60_000;
const maxAccounts = 1024;

export function createJobQueue(options: JobQueueOptions): JobQueue {
  const { maxRunning, maxWaiting, maxWaitingOfKey = maxWaiting, name } = options;
  let ended = 0;
  const { clock = () => ended } = options;
  const accounts = new Map<string, KeyUsage>();
  let [running, waiting, arrived] = [0, 0, 0];
  let isLargeRunning = false;
  /** The used time of the key that was served last. */
  let servedAtMs = 0;

  const accountOf = (key: string): KeyUsage => {
    const existing = accounts.get(key);
    const account = existing ?? newAccount(key);
    if (account.running.size + account.waiting.length === 0) {
      account.usedMs = Math.max(account.usedMs, servedAtMs);
    }
    if (!existing) {
      evictIdle(accounts, clock() - accountTtlMs);
      accounts.set(key, account);
    }
    return account;
  };

  /** Includes the elapsed time of running jobs: otherwise a key with slow jobs would seem to have used nothing. */
  const usedBy = ({ usedMs, running: jobs }: KeyUsage, now: number): number => {
    let used = usedMs;
    for (const { start } of jobs) used += now - start;
    return used;
  };

  const mayRun = ({ isLarge, account }: Pick<QueuedJob, "isLarge" | "account">): boolean => {
    if (running >= maxRunning || (isLarge && isLargeRunning)) return false;
    const isLastWorker = running === maxRunning - 1 && account.running.size > 0;
    return !(isLastWorker && account.meanMs > slowMs && isShared(account));
  };

  const isShared = (account: KeyUsage): boolean => {
    const since = clock() - accountTtlMs;
    return accounts.values().some((other) => other !== account && isActive(other, since));
  };

  const begin = (job: QueuedJob): void => {
    running += 1;
    if (job.isLarge) isLargeRunning = true;
    job.start = clock();
    job.account.running.add(job);
    servedAtMs = Math.max(servedAtMs, job.account.usedMs);
  };

  const end = (job: QueuedJob): void => {
    ended += 1;
    const { account } = job;
    const now = clock();
    const took = now - job.start;
    running -= 1;
    if (job.isLarge) isLargeRunning = false;
    account.running.delete(job);
    account.usedMs += took;
    account.meanMs += (took - account.meanMs) / 4;
    account.idleSince = now;
    serveNext();
  };

  /**
   * The next job: the first one that may run, of the key that has used the least time. While a large job waits for
   * another large job to end, other jobs of its key may run first.
   */
  const next = (): QueuedJob | undefined => {
    const now = clock();
    let best: QueuedJob | undefined;
    let bestMs = 0;
    for (const account of accounts.values()) {
      const job = account.waiting.find(mayRun);
      if (!job) continue;
      const ms = usedBy(account, now);
      if (best && (ms > bestMs || (ms === bestMs && job.number > best.number))) continue;
      best = job;
      bestMs = ms;
    }
    return best;
  };

  const removeFromQueue = (job: QueuedJob): boolean => {
    const at = job.account.waiting.indexOf(job);
    if (at < 0) return false;
    job.account.waiting.splice(at, 1);
    waiting -= 1;
    return true;
  };

  /** Starts every job that may run: after a large job, also the next large one, if a worker was already free. */
  const serveNext = (): void => {
    for (let job = next(); job; job = next()) {
      removeFromQueue(job);
      begin(job);
      job.resume();
    }
  };

  const queueFullError = (): GatewayError =>
    new GatewayError("overloaded", `${name} has a full queue. Retry in a second.`, {
      retryAfterMs: 1000,
    });

  /** Load shedding: when the queue is full, the key with the most queued jobs loses its latest job. */
  const shedIfFull = (account: KeyUsage): void => {
    if (account.waiting.length >= maxWaitingOfKey) throw queueFullError();
    if (waiting < maxWaiting) return;
    let most = account;
    for (const other of accounts.values()) {
      if (other.waiting.length > most.waiting.length) most = other;
    }
    const latest = most === account ? undefined : most.waiting.at(-1);
    if (!latest) throw queueFullError();
    removeFromQueue(latest);
    latest.refuse(queueFullError());
  };

  const enter = async (signal: AbortSignal, key: string, isLarge: boolean): Promise<QueuedJob> => {
    throwIfAborted(signal);
    const account = accountOf(key);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const job: QueuedJob = {
      isLarge,
      account,
      number: arrived++,
      start: 0,
      resume: resolve,
      refuse: reject,
    };
    // No queued job could run when the last job ended, so none is overtaken here.
    if (mayRun(job)) {
      begin(job);
      return job;
    }
    shedIfFull(account);
    const onAbort = (): void => {
      if (removeFromQueue(job)) reject();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    account.waiting.push(job);
    waiting += 1;
    try {
      await promise;
    } catch (error) {
      throwIfAborted(signal);
      throw error;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
    return job;
  };

  return {
    async run({ signal, isLarge = false, key = "" }, work) {
      const job = await enter(signal, key, isLarge);
      try {
        return await work();
      } finally {
        end(job);
      }
    },
  };
}

const newAccount = (key: string): KeyUsage => ({
  key,
  waiting: [],
  running: new Set(),
  usedMs: 0,
  meanMs: 0,
  idleSince: Number.NEGATIVE_INFINITY,
});

/** Evicts keys that have been idle since `before`; with too many keys, all idle ones. */
function evictIdle(accounts: Map<string, KeyUsage>, before: number): void {
  const isMany = accounts.size >= maxAccounts;
  const since = isMany ? Number.POSITIVE_INFINITY : before;
  for (const [key, account] of accounts) if (!isActive(account, since)) accounts.delete(key);
}

const isActive = ({ running, waiting, idleSince }: KeyUsage, since: number): boolean =>
  running.size + waiting.length > 0 || idleSince >= since;
