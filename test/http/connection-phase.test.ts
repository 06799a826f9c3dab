/** How long a connection may last in each state, whatever its client sends. */
import { expect, test } from "bun:test";
import { Phase, type State } from "../../server/http/server/connection-phase.ts";

const times = {
  headMs: 60_000,
  idleMs: 60_000,
  takeMs: 60_000,
  bodyMs: 60_000,
  lingerMs: 2000,
  drainMs: 10_000,
  forgetMs: 5000,
};

test.each<[State, "linger" | "end"]>([
  ["passing", "linger"],
  ["lingering", "end"],
])("a client that never stops sending is not read for longer than 10 s (%s)", (state, ending) => {
  const house = { now: 0, times };
  const phase = new Phase(house);
  phase.enter(state);
  for (house.now = 100; house.now <= times.drainMs; house.now += 100) {
    phase.dropped(1);
    expect(phase.overdue(false, false)).toBeUndefined();
  }
  phase.dropped(1);
  expect(phase.overdue(false, false)).toBe(ending);
});
