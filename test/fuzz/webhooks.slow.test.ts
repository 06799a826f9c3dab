/** Webhook receivers that fail at random, and clock jumps: no event waits forever, and none is retried forever. */
import { afterEach, expect, test } from "bun:test";
import { scaled } from "../depth.ts";
import { closeSimulations, hour, minute, startSimulation } from "../events/webhooks-fake-clock.ts";
import { randomFrom } from "./routing-simulation.ts";

afterEach(closeSimulations);

test("every webhook event is delivered or dropped after a bounded number of attempts, whatever the receiver and the clock do", async () => {
  for (let seed = 1; seed <= scaled(600); seed++) {
    const random = randomFrom(seed);
    const simulation = startSimulation({
      random,
      respond: () => {
        const dice = random();
        if (dice < 0.2) return new Error("broken off");
        if (dice < 0.3) return { status: 429, retryAfterMs: random() * hour };
        return { status: dice < 0.6 ? 500 : 200 };
      },
    });
    const count = 1 + Math.floor(random() * 8);
    for (let i = 0; i < count; i++) {
      simulation.emit();
      await simulation.pass(random() * 10 * minute);
      if (random() < 0.2) simulation.jump((random() - 0.5) * 48 * hour);
    }
    await simulation.pass(48 * hour);
    expect(simulation.states().filter((state) => state === "waiting")).toEqual([]);
    expect(simulation.attempts.length).toBeLessThanOrEqual(count * 6);
    closeSimulations();
  }
});
