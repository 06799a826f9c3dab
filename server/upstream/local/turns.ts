/** Whose turn it is: a few jobs at a time, of large ones only one, so that two never need their memory together. */
import { GatewayError } from "../../std/gateway-error.ts";
import type { Signal } from "../../std/signal.ts";
import { stopIfAborted } from "./sketch/abort.ts";

export interface TurnsOptions {
  readonly maxRunning: number;
  /** Large ones and others together; the next is turned away. */
  readonly maxWaiting: number;
  /** For people. */
  readonly who: string;
}

export interface Turn {
  readonly signal: Signal;
  readonly isLarge?: boolean;
}

export interface Turns {
  run<T>(turn: Turn, work: () => Promise<T>): Promise<T>;
}

interface Waiting extends Size {
  readonly go: () => void;
}

interface Size {
  readonly isLarge: boolean;
}

/** In the order in which they came, but that others pass large ones which wait for a large one. */
export function createTurns({ maxRunning, maxWaiting, who }: TurnsOptions): Turns {
  const waiting: Waiting[] = [];
  let running = 0;
  let isLargeRunning = false;

  const mayRun = ({ isLarge }: Size): boolean =>
    running < maxRunning && !(isLarge && isLargeRunning);
  const begin = ({ isLarge }: Size): void => {
    running += 1;
    if (isLarge) isLargeRunning = true;
  };
  const end = ({ isLarge }: Size): void => {
    running -= 1;
    if (isLarge) isLargeRunning = false;
    // Two may go where a large one ends that others waited for while a place was free.
    for (let next = waiting.findIndex(mayRun); next >= 0; next = waiting.findIndex(mayRun)) {
      const [first] = waiting.splice(next, 1);
      if (first) begin(first);
      first?.go();
    }
  };

  const enter = async (signal: Signal, isLarge: boolean): Promise<void> => {
    stopIfAborted(signal);
    // Whoever waits could not run when it was last asked: nobody is passed who might have.
    if (mayRun({ isLarge })) return begin({ isLarge });
    if (waiting.length >= maxWaiting) {
      throw new GatewayError("overloaded", `${who} has as much in hand as it can carry.`, {
        retryAfterMs: 1000,
      });
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const one: Waiting = { isLarge, go: resolve };
    const leave = (): void => {
      const at = waiting.indexOf(one);
      if (at < 0) return;
      waiting.splice(at, 1);
      reject();
    };
    signal.addEventListener("abort", leave, { once: true });
    waiting.push(one);
    await promise.catch(() => stopIfAborted(signal));
    signal.removeEventListener("abort", leave);
  };

  return {
    async run({ signal, isLarge = false }, work) {
      await enter(signal, isLarge);
      try {
        return await work();
      } finally {
        end({ isLarge });
      }
    },
  };
}
