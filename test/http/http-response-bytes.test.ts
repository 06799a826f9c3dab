/**
 * A response arrives with exactly the bytes it announced, or its connection is reset: the next response is never read
 * as the rest of it.
 */

import { describe, expect, test } from "bun:test";
import type { OutgoingResponse } from "../../server/request/http-types.ts";
import { until } from "../until.ts";
import {
  afterGate,
  each,
  gate,
  get,
  respondWith,
  serve,
  streamedBody,
} from "./http-server-fixture.ts";

/** More than the socket buffers of both sides take. */
const large = 16 * 1024 * 1024;
const release = ({ buffer }: Uint8Array): void => void (buffer as ArrayBuffer).transfer(0);

describe("a buffer that is released before the socket has accepted it", () => {
  const closed: boolean[] = [];
  const streamed = (chunks: readonly Uint8Array[]) =>
    streamedBody(2 * large, () => each(...chunks), closed);

  test.each<[string, (chunks: readonly Uint8Array[]) => OutgoingResponse["body"], boolean[]]>([
    ["as bytes", ([first]) => first as Uint8Array, []],
    ["as a body that is read", streamed, [false]],
    ["in chunks", (chunks) => each(...chunks), []],
  ])("%s resets the connection, and is reported", async (_, body, ends) => {
    closed.length = 0;
    const chunks = [Buffer.alloc(large, "a"), Buffer.alloc(large, "b")];
    await using served = serve(({ head }) =>
      respondWith(head.path === "/large" ? body(chunks) : "next"),
    );
    const connection = await served.connect();
    connection.pause();
    connection.send(get("/large") + get("/next"));
    await until(() => served.server.pending() === 1);
    await Bun.sleep(50);
    for (const chunk of chunks) release(chunk);
    connection.resume();
    await connection.closed;
    expect(connection.received).not.toContain("next");
    expect(connection.received).not.toContain("\r\n0\r\n\r\n");
    await until(() => served.errors.length > 0);
    expect(String(served.errors[0])).toContain("bytes");
    expect([served.errors.length, closed]).toEqual([1, ends]);
    const other = await served.connect(get("/"));
    expect((await other.response()).body).toBe("next");
  });
});

describe("a throw while a response is written", () => {
  const defect = new Error("a defect");
  /** Throws when the head is made. */
  const poisoned = (): Record<string, string> => ({
    get "x-bad"(): string {
      throw defect;
    },
  });

  test("is reported, resets the connection, and closes the body exactly once", async () => {
    const closed: boolean[] = [];
    const body = streamedBody(3, () => each(Buffer.from("abc")), closed);
    await using served = serve(({ head }) =>
      head.path === "/bad" ? { status: 200, headers: poisoned(), body } : respondWith("good"),
    );
    const connection = await served.connect(get("/bad") + get("/next"));
    await connection.closed;
    expect(connection.received).toBe("");
    expect(served.errors).toEqual([defect]);
    expect(closed).toEqual([false]);
    expect(served.server.pending()).toBe(0);
    const other = await served.connect(get("/"));
    expect((await other.response()).body).toBe("good");
  });

  test("from an iterable body ends its iterator", async () => {
    let ended = 0;
    const body = {
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: true as const, value: undefined }),
        return: async () => {
          ended++;
          return { done: true as const, value: undefined };
        },
      }),
    };
    await using served = serve(() => ({ status: 200, headers: poisoned(), body }));
    const connection = await served.connect(get("/"));
    await connection.closed;
    expect([served.errors, ended]).toEqual([[defect], 1]);
  });

  test("and a second throw during the clean-up are both reported", async () => {
    const other = new Error("another defect");
    const body = { ...streamedBody(3, () => each()), close: () => Promise.reject(other) };
    await using served = serve(() => ({ status: 200, headers: poisoned(), body }));
    const connection = await served.connect(get("/"));
    await connection.closed;
    await until(() => served.errors.length === 2);
    expect(served.errors).toContain(defect);
    expect(served.errors).toContain(other);
  });

  test("of another response is reported as well, when a pipelined request is refused", async () => {
    const go = gate();
    await using served = serve(
      afterGate(go, () => respondWith("first")),
      {
        refuse: () => {
          throw defect;
        },
      },
    );
    const connection = await served.connect(`${get("/")}nonsense\r\n\r\n`);
    await until(() => served.server.pending() === 1);
    go.open();
    await connection.closed;
    expect(served.errors).toEqual([defect]);
  });
});
