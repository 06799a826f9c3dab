/** The memory that a process grows by is the memory that the embedding cache accounts for. */
import { expect, test } from "bun:test";
import { resolve } from "node:path";

const MiB = 1024 * 1024;
const cacheBytes = 128 * MiB;

/** Fills a cache, adds as many vectors again, and prints by how many bytes the process has grown. */
const script = (dimensions: number) => `
  import { EmbeddingCache } from ${JSON.stringify(resolve(import.meta.dir, "../../server/embeddings/cache/embedding-cache.ts"))};
  const vector = Buffer.from(new Float32Array(${dimensions}).fill(0.5).buffer).toString("base64");
  const fill = async (cache, name, bytes) => {
    for (let at = 0; bytes > 0; at++) {
      cache.set(Bun.SHA256.hash(name + at, "base64"), { vector, tokens: 1 });
      bytes -= ${dimensions} * 4 + 400;
      if (at % 512 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await fill(new EmbeddingCache({ maxBytes: 1e6 }), "warm-up", 1e7);
  Bun.gc(true);
  await Bun.sleep(500);
  const before = process.memoryUsage.rss();
  const cache = new EmbeddingCache({ maxBytes: ${cacheBytes} });
  await fill(cache, "text", 2 * ${cacheBytes});
  Bun.gc(true);
  await Bun.sleep(1500);
  console.log(JSON.stringify({ grown: process.memoryUsage.rss() - before, bytes: cache.bytes }));
`;

/** The smallest growth of three processes: when the collector runs beside other work, it may leave pages for longer. */
async function measureGrowth(dimensions: number): Promise<{ grown: number; bytes: number }> {
  const results: { grown: number; bytes: number }[] = [];
  for (let times = 0; times < 3; times++) {
    const child = Bun.spawn([process.execPath, "-e", script(dimensions)]);
    results.push(JSON.parse(await new Response(child.stdout).text()));
  }
  const [smallest] = results.toSorted((a, b) => a.grown - b.grown);
  return smallest as { grown: number; bytes: number };
}

test.each([64, 3072])(
  "a full cache of vectors with %i numbers takes about its limit",
  async (dimensions) => {
    const { grown, bytes } = await measureGrowth(dimensions);
    expect(bytes).toBeLessThanOrEqual(cacheBytes);
    expect(bytes).toBeGreaterThan(cacheBytes * 0.8);
    expect(grown).toBeLessThan(cacheBytes * 1.25);
  },
);
