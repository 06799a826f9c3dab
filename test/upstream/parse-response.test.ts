/** An upstream response is parsed as exactly one response, however its bytes are split. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ResponseParser } from "../../server/upstream/transport/parse-response.ts";
import { tries } from "../depth.ts";
import { cuts, latin, plenty, read, splitAt, wellFormed } from "./parse-response-fixture.ts";

describe("a well-formed response", () => {
  test("is parsed the same however it is chunked, and ends exactly at its last byte", () => {
    const property = fc.property(wellFormed, cuts, (message, offsets) => {
      const response = new ResponseParser(plenty);
      let come = 0;
      for (const chunk of splitAt(message.wire, offsets)) {
        response.push(chunk);
        come += chunk.length;
        if (!message.untilClose) expect(response.done).toBe(come === message.wire.length);
        else expect(response.done).toBe(false);
      }
      expect(response.reusable).toBe(message.reusable);
      if (message.untilClose) response.close();
      expect(response.done).toBe(true);
      expect(response.status).toBe(message.status);
      expect(response.body.toBuffer().equals(message.whole)).toBe(true);
      for (const [name] of message.headers) {
        const all = message.headers.filter(([one]) => one === name).map(([, value]) => value);
        expect(response.headers.get(name)).toBe(all.join(", "));
      }
    });
    fc.assert(property, tries(400));
  });

  test("that is truncated is never complete, unless it ends with the connection", () => {
    const property = fc.property(wellFormed, cuts, fc.nat(), (message, offsets, end) => {
      const come = end % message.wire.length;
      const response = new ResponseParser(plenty);
      for (const chunk of splitAt(message.wire.subarray(0, come), offsets)) response.push(chunk);
      response.close();
      expect(response.done).toBe(message.untilClose && come >= message.headEnd);
      expect(response.reusable).toBe(false);
    });
    fc.assert(property, tries(300));
  });

  test("with surplus bytes is delivered, and its connection is not reused", () => {
    const more = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
      fc.constant(latin("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n!")),
    );
    const property = fc.property(wellFormed, more, cuts, (message, after, offsets) => {
      fc.pre(!message.untilClose);
      const response = new ResponseParser(plenty);
      for (const chunk of splitAt(Buffer.concat([message.wire, after]), offsets))
        response.push(chunk);
      expect(response.done).toBe(true);
      expect(response.reusable).toBe(false);
      expect(response.body.toBuffer().equals(message.whole)).toBe(true);
    });
    fc.assert(property, tries(200));
  });

  test.each([204, 304])("of status %i has no body, whatever its head declares", (status) => {
    const bare = read(`HTTP/1.1 ${status} X\r\netag: "a"\r\n\r\n`);
    expect([bare.done, bare.reusable, bare.body.length]).toEqual([true, true, 0]);
    // A response that declares a body may send it nevertheless: the connection is not reused.
    for (const line of ["content-length: 5", "transfer-encoding: chunked"]) {
      const odd = read(`HTTP/1.1 ${status} X\r\n${line}\r\n\r\n`);
      expect([odd.done, odd.reusable, odd.body.length]).toEqual([true, false, 0]);
    }
  });

  test("has its content-encoding in lower case", () => {
    const response = read(
      "HTTP/1.1 200 OK\r\nContent-Encoding:  GZip \r\ncontent-length: 0\r\n\r\n",
    );
    expect(response.coding).toBe("gzip");
    expect(read("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").coding).toBeUndefined();
  });
});
