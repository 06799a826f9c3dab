/** Groups the lines of a range: embedding lines that run concurrently, or one image line. */
import { jsonLength } from "../lib/large-json.ts";
import type { JobLine } from "./job-kind.ts";

/** The most lines that run concurrently, and the most inputs that they have together: their results are in memory. */
const maxLines = 128;
const maxInputs = 2048;
/** The most JSON text that they have together, unless one line has more: about the tokens of OpenAI's largest request. */
const maxLength = 1024 * 1024;

export async function* groupLines(
  lines: AsyncIterable<JobLine>,
): AsyncGenerator<readonly JobLine[]> {
  let group: JobLine[] = [];
  let [inputs, length] = [0, 0];
  for await (const line of lines) {
    const count = inputsOf(line);
    const more = jsonLength(line.body, maxLength);
    const isFull =
      group.length >= maxLines || inputs + count > maxInputs || length + more > maxLength;
    if (isFull && group.length > 0) {
      yield group;
      group = [];
      [inputs, length] = [0, 0];
    }
    group.push(line);
    inputs += count;
    length += more;
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
