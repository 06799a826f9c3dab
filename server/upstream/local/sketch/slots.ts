/** Renders run two at a time; a bounded number may wait, the rest are turned away at once. */

import { GatewayError } from "../../../std/gateway-error.ts";
import type { Signal } from "../../../std/signal.ts";
import { stopIfAborted } from "./abort.ts";

export interface Slots {
  run<T>(signal: Signal, work: () => Promise<T>): Promise<T>;
}

export function slots(maxRunning: number, maxWaiting: number, who = "The drawing program"): Slots {
  let running = 0;
  const waiting: (() => void)[] = [];
  const enter = async (signal: Signal): Promise<void> => {
    stopIfAborted(signal);
    if (running < maxRunning) {
      running += 1;
      return;
    }
    if (waiting.length >= maxWaiting) {
      throw new GatewayError("overloaded", `${who} has as much in hand as it can carry.`, {
        retryAfterMs: 1000,
      });
    }
    await new Promise<void>((go, stop) => {
      const turn = (): void => {
        signal.removeEventListener("abort", leave);
        running += 1;
        go();
      };
      const leave = (): void => {
        waiting.splice(waiting.indexOf(turn), 1);
        stop();
      };
      signal.addEventListener("abort", leave, { once: true });
      waiting.push(turn);
    }).catch(() => stopIfAborted(signal));
  };
  return {
    async run(signal, work) {
      await enter(signal);
      try {
        return await work();
      } finally {
        running -= 1;
        waiting.shift()?.();
      }
    },
  };
}
