/** Reads a file of texts in a worker, so that the page responds while a large one is read. */
import type { ReadTexts, Unreadable } from "./read-texts.ts";
import { VectorSet } from "./vector-set.ts";

/** `column`: as in `readTexts`. */
export async function readInWorker(file: File, column?: string): Promise<ReadTexts | Unreadable> {
  const worker = new VectorSet();
  try {
    return await worker.call("read", { file, column });
  } finally {
    worker.close();
  }
}
