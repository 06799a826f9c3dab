/**
 * An internal error, or a socket that accepts few bytes, affects one response at most: never the next, never the
 * process.
 */

import { describe, expect, test } from "bun:test";
import type { OutgoingResponse } from "../../server/request/http-types.ts";
import { until } from "../until.ts";
import { each, get, respondWith, serve, streamedBody } from "./http-server-fixture.ts";

describe("a response that cannot be sent as announced resets the connection:", () => {
  const closed: boolean[] = [];
  const three = () => each(Buffer.from("abc"));
  const breaks = async function* () {
    yield "abc";
    throw new Error("broken");
  };

  test.each<[string, () => OutgoingResponse["body"], boolean]>([
    ["a file that has become shorter", () => streamedBody(5, three, closed), true],
    ["a file that has become longer", () => streamedBody(2, three, closed), true],
    [
      "a file that cannot be opened",
      () =>
        streamedBody(
          3,
          () => {
            throw new Error("not there");
          },
          closed,
        ),
      true,
    ],
    ["chunks that end with an error", breaks, false],
  ])("%s", async (_, body, isFile) => {
    closed.length = 0;
    await using served = serve(({ head }) => respondWith(head.path === "/odd" ? body() : "next"));
    const connection = await served.connect(get("/odd") + get("/next"));
    await connection.closed;
    expect(connection.received).not.toContain("next");
    expect(connection.received).not.toContain("\r\n0\r\n\r\n");
    expect(served.errors).toHaveLength(1);
    expect(closed).toEqual(isFile ? [false] : []);
    const other = await served.connect(get("/"));
    expect((await other.response()).body).toBe("next");
  });

  test("a response to HEAD does not reset the connection", async () => {
    closed.length = 0;
    await using served = serve(() => respondWith(streamedBody(5, three, closed)));
    const connection = await served.connect(get("/").replace("GET", "HEAD"));
    const { headers } = await connection.response({ to: "HEAD" });
    expect(headers.get("content-length")).toBe("5");
    await until(() => closed.length > 0);
    expect([closed, served.errors]).toEqual([[false], []]);
  });
});

describe("an internal error", () => {
  test("while a request is read resets the connection, and is reported", async () => {
    const defect = new Error("a defect");
    await using served = serve(() => respondWith(""), {
      refuse: () => {
        throw defect;
      },
    });
    const connection = await served.connect("nonsense\r\n\r\n");
    await connection.closed;
    expect(served.errors).toEqual([defect]);
    await served.server.stop(false);
  });

  test("instead of a response resets the connection, and is reported", async () => {
    const defect = new Error("a defect");
    await using served = serve(undefined, { onRequest: () => Promise.reject(defect) });
    const connection = await served.connect(get("/"));
    await connection.closed;
    expect(served.errors).toEqual([defect]);
  });
});
