/** Groups the lines of a range: embedding lines that run concurrently, or one image line. */
import type { JobLine } from "./job-kind.ts";

/** The most lines that run concurrently, and the most inputs that they have together: their results are in memory. */
const maxLines = 128;
const maxInputs = 2048;

export async function* groupLines(
  lines: AsyncIterable<JobLine>,
): AsyncGenerator<readonly JobLine[]> {
  let group: JobLine[] = [];
  let inputs = 0;
  for await (const line of lines) {
    const count = inputsOf(line);
    const isFull = group.length >= maxLines || (group.length > 0 && inputs + count > maxInputs);
    if (isFull) {
      yield group;
      group = [];
      inputs = 0;
    }
    group.push(line);
    inputs += count;
  }
  if (group.length > 0) yield group;
}

/** An image line fills a group. The pipeline refuses an input that is not valid. */
function inputsOf({ operation, body }: JobLine): number {
  if (operation !== "embeddings") return maxInputs + 1;
  const input =
    typeof body === "object" && body !== null && "input" in body ? body.input : undefined;
  return Array.isArray(input) ? input.length : 1;
}
