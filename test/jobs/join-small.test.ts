/** Small results of lines are written together, and large ones are not copied. */
import { expect, test } from "bun:test";
import { joinSmall } from "../../server/jobs/group-lines.ts";

test("chunks are joined up to 256 KiB, in their order, and larger ones are kept as they are", () => {
  const small = Array.from({ length: 1000 }, (_, at) => Buffer.alloc(1000, at % 256));
  const large = [Buffer.alloc(300_000, "a"), Buffer.alloc(10_000_000, "b")];
  const chunks = [...small, ...large, ...small.slice(0, 3)];
  const joined = joinSmall(chunks);
  expect(Buffer.concat(joined).equals(Buffer.concat(chunks))).toBe(true);
  expect(joined.length).toBeLessThan(10);
  for (const chunk of large) expect(joined).toContain(chunk);
  expect(joinSmall([])).toEqual([]);
});
