/**
 * Validates the input file of a batch before anything runs: every line, as a stream. Errors name the line, the code and
 * the parameter. As at OpenAI, a line that is no request of the batch, a model that is not served, a required parameter
 * that is missing, and `stream` fail the file. Any other invalid value fails its line alone, when the line runs.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import type { Turns } from "../lib/turns.ts";
import type { BatchError } from "./batches.ts";
import { type InputLine, LineError, type LineLimits, parseLine, readLines } from "./read-lines.ts";
import type { SizedRange } from "./vendor/choose-execution.ts";

export interface BatchLimits extends Omit<LineLimits, "maxBlankLines"> {
  /** The most lines, the most blank lines, and the most inputs of all embeddings requests together. */
  readonly maxLines: number;
}

/** The limits of one line, and of blank lines. */
export const lineLimitsOf = ({ maxLines, ...limits }: BatchLimits): LineLimits => ({
  ...limits,
  maxBlankLines: maxLines,
});

export interface ValidateInputOptions {
  readonly limits: BatchLimits;
  /** Such as `/v1/embeddings`. */
  readonly endpoint: string;
  /** Lines of one range. */
  readonly rangeLines: number;
  /** The size of the file. */
  readonly size: number;
  /** Reads the file from the beginning. */
  readonly open: () => AsyncIterable<Uint8Array>;
  /** Checks the body of a line. Returns its model and the number of its inputs. Rejects with GatewayError. */
  readonly check: (body: unknown) => Promise<CheckedBody>;
  readonly turns: Turns;
}

interface CheckedBody {
  readonly model: string;
  readonly inputs: number;
  /** Estimated, of embeddings. */
  readonly tokens: number;
  /** The estimated cost of images now, in US dollars. Null if unknown. */
  readonly imageDollars: number | null;
}

type ValidatedInput = { readonly errors: readonly BatchError[] } | ValidInput;

/** `tokens` and `imageDollars`: estimated, of all valid lines. */
export interface ValidInput extends Pick<CheckedBody, "tokens" | "imageDollars"> {
  readonly ranges: readonly SizedRange[];
  /** Lines that the endpoint accepts. The others are in the ranges too, and fail when they run. */
  readonly validLines: number;
  /** That of all valid lines. Undefined if there are several, or none. */
  readonly model: string | undefined;
}

/** The most errors that are reported, and the most bytes of their JSON: every list of batches shows them. */
const maxErrors = 100;
const maxErrorBytes = 32 * 1024;
/** A message may repeat what the client sent. */
const maxMessageLength = 500;
/**
 * custom_ids that are compared, about 40 MB: twice the lines that OpenAI allows. In longer files, repeated ids after
 * them are not found; the gateway itself does not depend on unique ids.
 */
const maxComparedIds = 100_000;

export async function validateInput(options: ValidateInputOptions): Promise<ValidatedInput> {
  const { open, limits, turns } = options;
  const validation = new Validation(options);
  for await (const line of readLines(open(), { position: 0, ...lineLimitsOf(limits), turns })) {
    await validation.add(line);
    if (validation.isFull) break;
  }
  validation.end();
  const { errors, ranges, validLines, model, tokens, imageDollars } = validation;
  return errors.length > 0 ? { errors } : { ranges, validLines, model, tokens, imageDollars };
}

class Validation {
  readonly errors: BatchError[] = [];
  readonly ranges: { -readonly [Name in keyof SizedRange]: SizedRange[Name] }[] = [];
  validLines = 0;
  tokens = 0;
  imageDollars: number | null = 0;
  readonly #options: ValidateInputOptions;
  readonly #ids = new Set<string>();
  #errorBytes = 0;
  #lines = 0;
  #inputs = 0;
  #model: string | undefined;
  #hasSeveralModels = false;

  constructor(options: ValidateInputOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return (
      this.errors.length >= maxErrors ||
      this.#errorBytes >= maxErrorBytes ||
      this.#lines > this.#options.limits.maxLines
    );
  }

  get model(): string | undefined {
    return this.#hasSeveralModels ? undefined : this.#model;
  }

  async add(line: InputLine): Promise<void> {
    const { rangeLines } = this.#options;
    const { position } = line;
    let range = this.ranges.at(-1);
    if (range) range.bytes = position - range.position;
    if (!range || range.lines >= rangeLines || isLarge(range)) {
      range = { firstLine: this.#lines, lines: 0, position, bytes: 0, inputs: 0 };
      this.ranges.push(range);
    }
    this.#lines++;
    range.lines++;
    try {
      const { customId, body, refusal } = parseLine(line, this.#options.endpoint);
      this.#addId(customId);
      if (refusal) return;
      const checked = await this.#options.check(body).catch(undefinedIfOfLine);
      if (!checked) return;
      const { model, inputs, tokens, imageDollars } = checked;
      this.validLines++;
      this.#inputs += inputs;
      range.inputs += inputs;
      this.tokens += tokens;
      this.imageDollars = plus(this.imageDollars, imageDollars);
      this.#hasSeveralModels ||= this.#model !== undefined && this.#model !== model;
      this.#model = model;
    } catch (error) {
      if (!(error instanceof LineError || error instanceof GatewayError)) throw error;
      const reported = batchErrorOf(error, line.number);
      this.errors.push(reported);
      this.#errorBytes += Buffer.byteLength(JSON.stringify(reported));
    }
  }

  #addId(id: string): void {
    if (this.#ids.has(id))
      throw new LineError(
        "duplicate_custom_id",
        `The custom_id '${id.slice(0, 100)}' occurs before this line already.`,
        "custom_id",
      );
    if (this.#ids.size < maxComparedIds) this.#ids.add(id);
  }

  end(): void {
    const last = this.ranges.at(-1);
    if (last) last.bytes = this.#options.size - last.position;
    const { maxLines } = this.#options.limits;
    const fail = (code: string, message: string) =>
      this.errors.push({ code, message, param: null, line: null });
    if (this.#lines === 0) fail("empty_file", "The input file has no lines.");
    if (this.#lines > maxLines)
      fail(
        "too_many_tasks",
        `The input file has more than ${maxLines} lines. Split it into several batches, or ask the gateway's operator to raise VEXEL_BATCH_MAX_LINES.`,
      );
    else if (this.#inputs > maxLines)
      fail(
        "too_many_tasks",
        `The lines have ${this.#inputs} inputs together, and a batch may have ${maxLines}. Split it into several batches, or ask the gateway's operator to raise VEXEL_BATCH_MAX_LINES.`,
      );
  }
}

/** A parameter of the body itself, and not a member of one. */
const ownParameter = /^\w+$/;

/**
 * OpenAI's service fails the file for a model that it does not serve and for a missing parameter, as the tests of
 * llama-stack recorded it (tests/integration/batches/test_batches_errors.py), and only the line for other values
 * (openai-openapi#302).
 */
function failsFile({ kind, details: { param } }: GatewayError): boolean {
  if (param === undefined || param === null) return false;
  return param === "model" || (kind === "missing_parameter" && ownParameter.test(param));
}

function undefinedIfOfLine(error: unknown): undefined {
  if (!(error instanceof GatewayError) || failsFile(error)) throw error;
}

const plus = (sum: number | null, dollars: number | null): number | null =>
  sum === null || dollars === null ? null : sum + dollars;

/** A range of large lines ends early. */
const maxRangeBytes = 64 * 1024 * 1024;
const maxRangeInputs = 8192;

const isLarge = ({ bytes, inputs }: SizedRange): boolean =>
  bytes >= maxRangeBytes || inputs >= maxRangeInputs;

function batchErrorOf(error: LineError | GatewayError, line: number): BatchError {
  const { message: text } = error;
  const message = text.length > maxMessageLength ? `${text.slice(0, maxMessageLength - 1)}…` : text;
  if (error instanceof LineError) return { code: error.code, message, param: error.param, line };
  const { code, param } = error.body.error;
  return {
    // As OpenAI's service has it for a parameter of the body: it has `missing_required_parameter` for a field of the
    // line.
    code: error.kind === "missing_parameter" ? "invalid_request" : (code ?? "invalid_request"),
    message,
    param: param === null ? "body" : `body.${param}`,
    line,
  };
}
