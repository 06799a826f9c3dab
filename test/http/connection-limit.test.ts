/** The bound on connections: which connection is closed for a new one, and which new ones are refused. */

import { expect, test } from "bun:test";
import { ConnectionLimit } from "../../server/http/server/connection-limit.ts";
import type { ConnectionReport } from "../../server/http/server/http-server.ts";

function limitOf(max: number, report: (report: ConnectionReport) => void = () => undefined) {
  const events: string[] = [];
  const limit = new ConnectionLimit<ReturnType<typeof member>>(max, report);
  const member = (name: string) => ({
    isAwaitingRequest: true,
    refuse: () => {
      events.push(`refused ${name}`);
      limit.countRefused();
    },
    close: () => void events.push(`closed ${name}`),
  });
  const open = (name: string) => {
    const connection = member(name);
    limit.add(connection);
    return connection;
  };
  /** Opens a connection with a request: whether it is served. */
  const request = (name: string): boolean => {
    const connection = open(name);
    connection.isAwaitingRequest = false;
    return limit.admit(connection);
  };
  return { limit, events, open, request, [Symbol.dispose]: () => limit.close() };
}

test("at the maximum the longest idle connection is closed for a request, and none with a request in flight", () => {
  using table = limitOf(4);
  const { limit } = table;
  const [first, second, third] = [table.open("first"), table.open("second"), table.open("third")];
  table.request("busy");
  for (const connection of [second, first]) {
    expect(limit.admit(connection)).toBe(true);
    limit.becameIdle(connection);
  }
  limit.admit(third);
  expect(["a", "b", "c"].map(table.request)).toEqual([true, true, false]);
  expect(table.events).toEqual(["closed second", "closed first"]);
  limit.becameIdle(third);
  expect(table.request("d")).toBe(true);
  expect(table.events.at(-1)).toBe("closed third");
  expect(limit.counts).toEqual({ open: 5, max: 4, refused: 0, evicted: 3 });
});

test("a connection whose request head is arriving counts as idle from the first bytes on", () => {
  using table = limitOf(2);
  const arriving = table.open("arriving");
  table.open("silent");
  table.limit.becameIdle(arriving);
  expect(table.request("a")).toBe(true);
  expect(table.events).toEqual(["closed silent"]);
});

test("connections beyond the maximum evict nothing until they send a request", () => {
  using table = limitOf(2);
  table.open("idle");
  table.open("also idle");
  for (let at = 0; at < 50; at++) table.open("silent");
  expect(table.events).toEqual([]);
  expect(table.limit.counts.evicted).toBe(0);
});

test("the request of a connection beyond the maximum is served when another connection has closed", () => {
  using table = limitOf(1);
  const first = table.open("first");
  table.limit.admit(first);
  const second = table.open("second");
  expect(table.limit.admit(second)).toBe(false);
  table.limit.delete(first);
  expect(table.limit.admit(second)).toBe(true);
  expect(table.request("third")).toBe(false);
});

test("the number of connections beyond the maximum is bounded: the oldest is refused and closed for a new one", () => {
  using table = limitOf(1);
  table.request("busy");
  for (let at = 0; at < 1000; at++) table.open(String(at));
  const { open } = table.limit.counts;
  expect(open).toBeLessThan(200);
  const closed = Array.from({ length: 1001 - open }, (_, at) => [`refused ${at}`, `closed ${at}`]);
  expect(table.events).toEqual(closed.flat());
});

test("a report has the number of refusals, and follows the last report after five seconds", () => {
  const reports: ConnectionReport[] = [];
  using table = limitOf(1, (report) => reports.push(report));
  for (let at = 0; at < 50; at++) table.limit.countRefused();
  for (const now of [1000, 2000, 3000]) table.limit.check(now);
  expect(reports.map(({ refused }) => refused)).toEqual([50]);
  table.limit.countRefused();
  for (const now of [4000, 5000, 6000, 7000]) table.limit.check(now);
  expect(reports.map(({ refused }) => refused)).toEqual([50, 1]);
});
