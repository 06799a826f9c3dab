/**
 * Declares the tests of a test file with empty bodies, so that `bun test` runs nothing but their hooks and what they
 * create while they are declared.
 */
import { join } from "node:path";

const emptyTests = join(import.meta.dir, "empty-tests.ts");

Bun.plugin({
  name: "declare only",
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/test\/(?!process\/preload\/).*\.ts$/ }, async ({ path }) => ({
      contents: (await Bun.file(path).text()).replace('from "bun:test"', `from "${emptyTests}"`),
      loader: "ts",
    }));
  },
});
