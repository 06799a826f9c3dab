/**
 * Merges consecutive embedding lines with equal parameters into one request. A request costs the gateway as much as a
 * hundred inputs do, and an upstream charges and limits requests too.
 */
import type { JobLine, MergedLines } from "../jobs/job-kind.ts";
import { isLongJson } from "../lib/large-json.ts";

type Body = Readonly<Record<string, unknown>>;

/** Whether several inputs with these parameters may be sent as one request. `body`: that of the first line. */
export type MayMerge = (body: Body) => boolean;

/** A line with more inputs is a request by itself. */
const maxInputsOfLine = 16;
const maxInputs = 128;
/**
 * The parameters of a line are compared as JSON text, all lines of a group in one step. Longer parameters have extra
 * fields, and a line with extra fields is not merged: it is not serialized either.
 */
const maxParametersLength = 2048;

export function mergeLines(lines: readonly JobLine[], mayMerge: MayMerge): MergedLines[] {
  const found: MergedLines[] = [];
  let run: Run | undefined;
  for (const line of lines) {
    const inputs = textsOf(line);
    const parameters = inputs && parametersOf(line.body as Body, line);
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
  const nanos = lines.reduce((sum, { reserved }) => sum + (reserved?.nanos ?? 0), 0);
  const reserved = first.reserved && { reserved: { ...first.reserved, nanos } };
  return { lines, merged: { ...first, ...reserved, body, inputsOfLines: counts } };
}

/** Lines whose cost is reserved already are not merged with others. */
const parametersOf = (body: Body, { reserved }: JobLine): string =>
  `${reserved !== undefined} ${JSON.stringify({ ...body, input: null })}`;

/** By an estimate that stops at the maximum, whatever the size of the body. `texts`: its inputs. */
function hasShortParameters(body: object, texts: readonly string[]): boolean {
  const ofTexts = texts.reduce((sum, { length }) => sum + length, 0);
  return !isLongJson(body, ofTexts + maxParametersLength);
}

/** Undefined if the line is not merged. */
function textsOf({ operation, body, vendor, failure }: JobLine): readonly string[] | undefined {
  // The batch of a vendor has a result for each line.
  if (vendor || failure) return undefined;
  if (operation !== "embeddings" || typeof body !== "object" || body === null) return undefined;
  const { input } = body as { readonly input?: unknown };
  const texts = isText(input) ? [input] : input;
  if (!Array.isArray(texts) || texts.length === 0 || texts.length > maxInputsOfLine)
    return undefined;
  return texts.every(isText) && hasShortParameters(body, texts) ? texts : undefined;
}

/**
 * A model that reads images takes a data URL as an image. No model takes an empty text, which would fail the request of
 * all merged lines.
 */
const isText = (input: unknown): input is string =>
  typeof input === "string" && input !== "" && !input.startsWith("data:");
