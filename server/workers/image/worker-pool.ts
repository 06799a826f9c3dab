/**
 * A few processes side by side, each with one picture at a time. So a picture that is too much for a process takes no
 * other with it, and a job that nobody waits for any more is ended by ending its process, which is the only way.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import { Cancel, type Signal } from "../../lib/signal.ts";
import { createTurns } from "../job-queue.ts";
import { Link, type LinkOptions } from "../process/link.ts";
import type { DarkroomAsk, DarkroomPart, DarkroomSpec } from "./protocol.ts";

type DarkroomLink = LinkOptions<DarkroomSpec>;

export interface LanesOptions
  extends Pick<DarkroomLink, "name" | "entry" | "spec" | "idleMs" | "spawn" | "onReady"> {
  /** Jobs at once. */
  readonly maxRunning: number;
  /** Queued jobs of all keys together. */
  readonly maxWaiting: number;
  readonly maxWaitingOfKey: number;
  /** How long a job may run. */
  readonly jobMs: number;
  /** Milliseconds, monotonic. Absent: all jobs count alike. */
  readonly clock?: () => number;
}

/** `boundOf`: how long the job may run, from here on, once the process has told how many pixels it decodes. */
export type AskChild = (
  ask: DarkroomAsk,
  boundOf: (pixels: number) => number,
) => Promise<readonly DarkroomPart[]>;

export interface LaneJob<T> {
  readonly signal: Signal;
  /** The API key that the job is run for. */
  readonly key: string;
  /** One at a time of these. */
  readonly isLarge: boolean;
  /** What is thrown when it runs for longer than its bound. */
  readonly slow: (boundMs: number) => GatewayError;
  /** Called when its turn has come. */
  readonly work: (ask: AskChild) => Promise<T>;
}

/**
 * glibc gives each of the library's threads an arena of its own, and none gives back what it once had: 16 MB for a picture
 * of 50 MB. With one thread at work, one arena is as quick. A threshold, once it is set, no longer grows by itself.
 */
const environment = { MALLOC_ARENA_MAX: "1", MALLOC_TRIM_THRESHOLD_: "131072" };

export interface Lanes {
  run<T>(job: LaneJob<T>): Promise<T>;
  close(): Promise<void>;
}

export function createLanes(options: LanesOptions): Lanes {
  const { maxRunning, maxWaiting, maxWaitingOfKey, jobMs, clock, ...link } = options;
  const turns = createTurns({
    maxRunning,
    maxWaiting,
    maxWaitingOfKey,
    who: link.name,
    ...(clock && { clock }),
  });
  const links = Array.from(
    { length: maxRunning },
    // Whoever leaves finds the child to be stuck, however short the wait was: it is in the middle of a picture.
    () =>
      new Link<DarkroomSpec, DarkroomAsk, DarkroomPart>({
        ...link,
        environment,
        maxWeight: 1,
        stuckMs: -1,
      }),
  );
  // The one that worked last is taken first, and the others may rest.
  const free = [...links];

  const run = async <T>({ signal, slow, work }: LaneJob<T>): Promise<T> => {
    const lane = free.pop();
    if (!lane) throw new Error("There are more jobs than lanes.");
    const until = new Cancel();
    const leave = () => until.abort(signal.reason);
    const endAfter = (ms: number) => setTimeout(() => until.abort(slow(ms)), ms);
    let timer = endAfter(jobMs);
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    try {
      return await work(async (ask, boundOf) => {
        const parts: DarkroomPart[] = [];
        const onPart = (part: DarkroomPart): void => {
          if (part.kind !== "opened") {
            parts.push(part);
          } else {
            clearTimeout(timer);
            timer = endAfter(Math.min(jobMs, boundOf(part.pixels)));
          }
        };
        await lane.ask({ ask, weight: 1, signal: until, onPart }).catch(ownWords);
        return parts;
      });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
      free.push(lane);
    }
  };

  return {
    run: (job) => turns.run(job, () => run(job)),
    close: async () => {
      await Promise.all(links.map((lane) => lane.close()));
    },
  };
}

/** A process that died is no upstream that broke: another upstream would be served by the same kind of process. */
function ownWords(error: unknown): never {
  if (!(error instanceof GatewayError) || error.fault !== "upstream_unreachable") throw error;
  throw new GatewayError(
    "overloaded",
    "The process that was working on a picture ended before it was done. Please try again.",
    { retryAfterMs: 1000, logged: error.message, cause: error },
  );
}
