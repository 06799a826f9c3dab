/**
 * A few processes side by side, each with one picture at a time. So a picture that is too much for a process takes no
 * other with it, and a job that nobody waits for any more is ended by ending its process, which is the only way.
 */
import { GatewayError } from "../../../std/gateway-error.ts";
import { Cancel, type Signal } from "../../../std/signal.ts";
import { Link, type LinkOptions } from "../process/link.ts";
import { slots } from "../sketch/slots.ts";
import type { DarkroomAsk, DarkroomPart, DarkroomSpec } from "./ask.ts";

type DarkroomLink = LinkOptions<DarkroomSpec>;

export interface LanesOptions
  extends Pick<DarkroomLink, "name" | "entry" | "spec" | "idleMs" | "spawn" | "onReady"> {
  /** Jobs at once. */
  readonly maxRunning: number;
  /** Jobs that wait; the next is turned away. */
  readonly maxWaiting: number;
  /** How long a job may take, once its turn has come. */
  readonly jobMs: number;
}

export type AskChild = (ask: DarkroomAsk) => Promise<readonly DarkroomPart[]>;

export interface Lanes {
  /** `job` is called when its turn has come. `slow`: what is thrown when it takes too long. */
  run<T>(signal: Signal, slow: () => GatewayError, job: (ask: AskChild) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export function createLanes(options: LanesOptions): Lanes {
  const { maxRunning, maxWaiting, jobMs, ...link } = options;
  const room = slots(maxRunning, maxWaiting, link.name);
  const links = Array.from(
    { length: maxRunning },
    // Whoever leaves finds the child to be stuck, however short the wait was: it is in the middle of a picture.
    () => new Link<DarkroomSpec, DarkroomAsk, DarkroomPart>({ ...link, maxWeight: 1, stuckMs: -1 }),
  );
  // The one that worked last is taken first, and the others may rest.
  const free = [...links];

  const run = async <T>(
    signal: Signal,
    slow: () => GatewayError,
    job: (ask: AskChild) => Promise<T>,
  ): Promise<T> => {
    const lane = free.pop();
    if (!lane) throw new Error("There are more jobs than lanes.");
    const until = new Cancel();
    const leave = () => until.abort(signal.reason);
    const timer = setTimeout(() => until.abort(slow()), jobMs);
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    try {
      return await job(async (ask) => {
        const parts: DarkroomPart[] = [];
        const onPart = (part: DarkroomPart) => parts.push(part);
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
    run: (signal, slow, job) => room.run(signal, () => run(signal, slow, job)),
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
