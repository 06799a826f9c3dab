/** The write timeout: how slowly a client may read its response. */

import { expect, test } from "bun:test";
import type { ByteSocket } from "../../server/http/server/client-socket.ts";
import { ClientConnection } from "../../server/http/server/connection.ts";
import { WriteTimeout } from "../../server/http/server/socket-writer.ts";
import { get, respondWith } from "./http-server-fixture.ts";
import { contextWith, NarrowSocket } from "./narrow-socket.ts";

test.each<[string, number, boolean]>([
  ["nothing", 0, true],
  ["4 KB per second", 4096, true],
  ["16 KB per second", 16_384, false],
])("a client that reads %s for a minute", (_, perSecond, isOver) => {
  const timeout = new WriteTimeout(60_000);
  let sentBytes = 1000;
  for (let second = 0; second <= 60; second++) {
    expect(timeout.isOver(second * 1000, { sentBytes, isBlocked: true })).toBe(false);
    sentBytes += perSecond;
  }
  expect(timeout.isOver(61_000, { sentBytes, isBlocked: true })).toBe(isOver);
});

test("a client that has read everything is not slow, however late the next bytes are", () => {
  const timeout = new WriteTimeout(60_000);
  for (let second = 0; second <= 600; second++) {
    const isBlocked = second % 50 !== 0;
    expect(timeout.isOver(second * 1000, { sentBytes: second, isBlocked })).toBe(false);
  }
});

test("a client that reads a kilobyte of its response every ten seconds is disconnected", async () => {
  const socket = new NarrowSocket();
  const context = contextWith(async () => respondWith("x".repeat(1024 * 1024)));
  const connection = new ClientConnection(socket as unknown as ByteSocket, context);
  connection.receive(Buffer.from(get("/")));
  for (; socket.calls.length === 0 && context.now < 600_000; context.now += 1000) {
    if (context.now % 10_000 === 0) {
      socket.freeBytes = 1000;
      connection.socket.onDrain();
    }
    await new Promise(setImmediate);
    connection.checkTimeouts();
  }
  expect(socket.calls).toEqual(["terminate"]);
  expect(context.now).toBeLessThan(90_000);
  expect(socket.accepted.length).toBeGreaterThan(5000);
});
