/**
 * Merges consecutive embedding lines with equal parameters into one request. A request costs the gateway as much as a
 * hundred inputs do, and an upstream charges and limits requests too.
 */
import type { JobLine, MergedLines } from "../jobs/job-kind.ts";

type Body = Readonly<Record<string, unknown>>;

/** Whether several inputs with these parameters may be sent as one request. `body`: that of the first line. */
export type MayMerge = (body: Body) => boolean;

/** A line with more inputs is a request by itself. */
const maxInputsOfLine = 16;
const maxInputs = 128;

export function mergeLines(lines: readonly JobLine[], mayMerge: MayMerge): MergedLines[] {
  const found: MergedLines[] = [];
  let run: Run | undefined;
  for (const line of lines) {
    const inputs = textsOf(line);
    const parameters = inputs && parametersOf(line.body as Body);
    if (
      run &&
      inputs &&
      run.parameters === parameters &&
      run.inputs.length + inputs.length <= maxInputs
    ) {
      add(run, line, inputs);
      continue;
    }
    if (run) found.push(mergedOf(run));
    run = undefined;
    if (!inputs || !mayMerge(line.body as Body)) found.push({ lines: [line] });
    else
      run = {
        parameters: parameters ?? "",
        lines: [line],
        inputs: [...inputs],
        counts: [inputs.length],
      };
  }
  if (run) found.push(mergedOf(run));
  return found;
}

/** Consecutive lines with equal parameters. */
interface Run {
  readonly parameters: string;
  readonly lines: JobLine[];
  readonly inputs: string[];
  readonly counts: number[];
}

function add({ lines, inputs, counts }: Run, line: JobLine, more: readonly string[]): void {
  lines.push(line);
  inputs.push(...more);
  counts.push(more.length);
}

function mergedOf({ lines, inputs, counts }: Run): MergedLines {
  const [first] = lines;
  if (!first || lines.length === 1) return { lines };
  const body = { ...(first.body as Body), input: inputs };
  return { lines, merged: { ...first, body, inputsOfLines: counts } };
}

const parametersOf = (body: Body): string => JSON.stringify({ ...body, input: null });

/** Undefined: the line is not merged. */
function textsOf({ operation, body, vendor, failure }: JobLine): readonly string[] | undefined {
  // The batch of a vendor has a result for each line.
  if (vendor || failure) return undefined;
  if (operation !== "embeddings" || typeof body !== "object" || body === null) return undefined;
  const { input } = body as { readonly input?: unknown };
  if (isText(input)) return [input];
  const isShort = Array.isArray(input) && input.length > 0 && input.length <= maxInputsOfLine;
  return isShort && input.every(isText) ? input : undefined;
}

/**
 * A model that reads images takes a data URL as an image. No model takes an empty text, which would fail the request of
 * all merged lines.
 */
const isText = (input: unknown): input is string =>
  typeof input === "string" && input !== "" && !input.startsWith("data:");
