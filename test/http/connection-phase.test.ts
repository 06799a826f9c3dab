/** How long a connection may last in each state, whatever its client sends. */
import { expect, test } from "bun:test";
import { ConnectionPhase, type ConnectionState } from "../../server/http/server/client-socket.ts";
import { timeouts } from "./http-server-fixture.ts";

test.each<[ConnectionState, "linger" | "end"]>([
  ["discarding", "linger"],
  ["lingering", "end"],
])("a client that never stops sending is not read for longer than 10 s (%s)", (state, ending) => {
  const server = { now: 0, timeouts };
  const phase = new ConnectionPhase(server, "idle");
  phase.enter(state);
  for (server.now = 100; server.now <= timeouts.lingerTotalMs; server.now += 100) {
    phase.countDiscarded(1);
    expect(phase.timedOut(false, false)).toBeUndefined();
  }
  phase.countDiscarded(1);
  expect(phase.timedOut(false, false)).toBe(ending);
});
