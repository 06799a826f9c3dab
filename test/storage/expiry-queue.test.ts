/**
 * Expiry queue (priority queue): files are deleted in the order in which they expire, whatever the order of insertion.
 */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { ExpiryQueue } from "../../server/storage/files/expiry-queue.ts";

test("only expired files are returned, in the order of their expiry", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(50)), fc.nat(50), (times, now) => {
      const queue = new ExpiryQueue();
      times.forEach((deleteAt, at) => {
        queue.add({ name: String(at), size: 1, deleteAt });
      });
      const expired: number[] = [];
      for (let file = queue.takeExpired(now); file; file = queue.takeExpired(now)) {
        expired.push(file.deleteAt);
      }
      expect(expired).toEqual(times.filter((time) => time <= now).toSorted((a, b) => a - b));
      expect(queue.length).toBe(times.length - expired.length);
      expect(queue.first?.deleteAt ?? Number.POSITIVE_INFINITY).toBeGreaterThan(now);
    }),
  );
});
