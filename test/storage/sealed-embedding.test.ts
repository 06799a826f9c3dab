/** Values of the shared embedding cache that another program has written. */
import { expect, test } from "bun:test";
import { secretHash } from "../../server/lib/secret-hash.ts";
import { EmbeddingSeal } from "../../server/storage/redis/sealed-embedding.ts";

const key = Buffer.from(secretHash("text"), "hex").toString("base64");
const generation = "0011223344556677";

test("a cached value whose length is not that of a vector is a miss, also without a secret", () => {
  const seal = new EmbeddingSeal("");
  const value = seal.encode({ vector: new Float32Array([1, 2]), tokens: 1 }, 0);
  for (const more of [1, 2, 3]) {
    const longer = Buffer.concat([value, Buffer.alloc(more)]);
    seal.seal(key, longer, generation);
    expect(seal.open(key, longer, generation)).toBe("rejected");
  }
  seal.seal(key, value, generation);
  expect(seal.open(key, value, generation)).toMatchObject({ tokens: 1 });
});
