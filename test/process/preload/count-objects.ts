/** Writes the number of objects that were allocated so far to the file OBJECTS, at each SIGUSR2. The collector is off. */
import { heapStats } from "bun:jsc";
import { renameSync, writeFileSync } from "node:fs";

let written = 0;

process.on("SIGUSR2", () => {
  const { objectTypeCounts } = heapStats();
  const count = Object.values(objectTypeCounts).reduce((sum, one) => sum + one, 0);
  const file = `${process.env.OBJECTS}.${written++}`;
  writeFileSync(`${file}.new`, String(count));
  renameSync(`${file}.new`, file);
});
