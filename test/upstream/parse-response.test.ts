/** An upstream's answer is read as exactly one answer, however it is cut on its way. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ResponseParser } from "../../server/upstream/transport/parse-response.ts";
import { tries } from "../depth.ts";
import { cuts, latin, piecesOf, plenty, read, wellFormed } from "./parse-response-fixture.ts";

describe("a well-formed response", () => {
  test("is the same however it is cut, and over exactly at its last byte", () => {
    const property = fc.property(wellFormed, cuts, (given, places) => {
      const answer = new ResponseParser(plenty);
      let come = 0;
      for (const piece of piecesOf(given.wire, places)) {
        answer.push(piece);
        come += piece.length;
        if (!given.untilClose) expect(answer.done).toBe(come === given.wire.length);
        else expect(answer.done).toBe(false);
      }
      expect(answer.reusable).toBe(given.reusable);
      if (given.untilClose) answer.close();
      expect(answer.done).toBe(true);
      expect(answer.status).toBe(given.status);
      expect(answer.body.toBuffer().equals(given.whole)).toBe(true);
      for (const [name] of given.headers) {
        const all = given.headers.filter(([one]) => one === name).map(([, value]) => value);
        expect(answer.headers.get(name)).toBe(all.join(", "));
      }
    });
    fc.assert(property, tries(400));
  });

  test("that is cut off is never taken for a whole one, unless its end is that of the connection", () => {
    const property = fc.property(wellFormed, cuts, fc.nat(), (given, places, end) => {
      const come = end % given.wire.length;
      const answer = new ResponseParser(plenty);
      for (const piece of piecesOf(given.wire.subarray(0, come), places)) answer.push(piece);
      answer.close();
      expect(answer.done).toBe(given.untilClose && come >= given.headEnd);
      expect(answer.reusable).toBe(false);
    });
    fc.assert(property, tries(300));
  });

  test("with bytes behind its end is taken, and its connection is not taken again", () => {
    const more = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
      fc.constant(latin("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n!")),
    );
    const property = fc.property(wellFormed, more, cuts, (given, after, places) => {
      fc.pre(!given.untilClose);
      const answer = new ResponseParser(plenty);
      for (const piece of piecesOf(Buffer.concat([given.wire, after]), places)) answer.push(piece);
      expect(answer.done).toBe(true);
      expect(answer.reusable).toBe(false);
      expect(answer.body.toBuffer().equals(given.whole)).toBe(true);
    });
    fc.assert(property, tries(200));
  });

  test.each([204, 304])("of status %i has no body, whatever its head declares", (status) => {
    const bare = read(`HTTP/1.1 ${status} X\r\netag: "a"\r\n\r\n`);
    expect([bare.done, bare.reusable, bare.body.length]).toEqual([true, true, 0]);
    // One that announces a body may send it all the same.
    for (const line of ["content-length: 5", "transfer-encoding: chunked"]) {
      const odd = read(`HTTP/1.1 ${status} X\r\n${line}\r\n\r\n`);
      expect([odd.done, odd.reusable, odd.body.length]).toEqual([true, false, 0]);
    }
  });

  test("has its content-encoding in lower case", () => {
    const answer = read("HTTP/1.1 200 OK\r\nContent-Encoding:  GZip \r\ncontent-length: 0\r\n\r\n");
    expect(answer.coding).toBe("gzip");
    expect(read("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").coding).toBeUndefined();
  });
});
