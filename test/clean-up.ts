/**
 * Closes what a test file or a test has opened. The test file calls these functions itself, because a hook of a shared
 * module applies only to one test file.
 */
import { afterAll, afterEach } from "bun:test";

type Closable = { close(): unknown } | { stop(closeActiveConnections: true): unknown } | Disposable;

function closeOne(opened: Closable): unknown {
  if ("stop" in opened) return opened.stop(true);
  return "close" in opened ? opened.close() : opened[Symbol.dispose]();
}

/** After all tests of the file, in this order. */
export function closeAfterAll(...opened: readonly Closable[]): void {
  afterAll(async () => {
    for (const each of opened) await closeOne(each);
  });
}

/** Returns a function that takes what the test has opened. It is closed after the test, the newest first. */
export function closeAfterEach(): (...opened: readonly Closable[]) => void {
  const all: Closable[] = [];
  afterEach(async () => {
    for (const each of all.splice(0).reverse()) await closeOne(each);
  });
  return (...opened) => void all.push(...opened);
}
