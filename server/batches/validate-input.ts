/**
 * Validates the input file of a batch before anything runs: every line, as a stream. Errors name the line, the code and
 * the parameter.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { nextTurn } from "../lib/tasks.ts";
import { type InputLine, readLines } from "./read-lines.ts";
import type { BatchError } from "./stored-batch.ts";
import type { SizedRange } from "./vendor/choose-execution.ts";

export interface BatchLimits {
  /** Lines, and inputs of all embeddings requests together. */
  readonly maxLines: number;
  readonly maxLineBytes: number;
}

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
}

interface CheckedBody {
  readonly model: string;
  readonly inputs: number;
  /** Estimated, of embeddings. */
  readonly tokens: number;
  /** The estimated cost of images now, in US dollars. Null: unknown. */
  readonly imageDollars: number | null;
}

type ValidatedInput = { readonly errors: readonly BatchError[] } | ValidInput;

/** `tokens` and `imageDollars`: estimated, of all lines. */
export interface ValidInput extends Pick<CheckedBody, "tokens" | "imageDollars"> {
  readonly ranges: readonly SizedRange[];
  /** Undefined: there are several. */
  readonly model: string | undefined;
}

/** The most errors that are reported. */
const maxErrors = 100;
/** Other requests are served after this many lines. */
const linesPerTurn = 50;
/**
 * custom_ids that are compared, about 40 MB: twice the lines that OpenAI allows. In longer files, repeated ids after them
 * are not found; the gateway itself does not depend on unique ids.
 */
const maxComparedIds = 100_000;

export async function validateInput(options: ValidateInputOptions): Promise<ValidatedInput> {
  const validation = new Validation(options);
  for await (const line of linesOf(options)) {
    await validation.add(line);
    if (validation.isFull) break;
  }
  validation.end();
  const { errors, ranges, model, tokens, imageDollars } = validation;
  return errors.length > 0 ? { errors } : { ranges, model, tokens, imageDollars };
}

async function* linesOf({ open, limits }: ValidateInputOptions): AsyncGenerator<InputLine> {
  let count = 0;
  for await (const line of readLines(open(), { position: 0, ...limits })) {
    yield line;
    if (++count % linesPerTurn === 0) await nextTurn();
  }
}

class Validation {
  readonly errors: BatchError[] = [];
  readonly ranges: { -readonly [Name in keyof SizedRange]: SizedRange[Name] }[] = [];
  tokens = 0;
  imageDollars: number | null = 0;
  readonly #options: ValidateInputOptions;
  readonly #ids = new Set<string>();
  #lines = 0;
  #inputs = 0;
  #model: string | undefined;
  #hasSeveralModels = false;

  constructor(options: ValidateInputOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.errors.length >= maxErrors || this.#lines > this.#options.limits.maxLines;
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
      const { customId, body } = parseLine(line, this.#options.endpoint);
      this.#addId(customId);
      const { model, inputs, tokens, imageDollars } = await this.#options.check(body);
      this.#inputs += inputs;
      range.inputs += inputs;
      this.tokens += tokens;
      this.imageDollars = plus(this.imageDollars, imageDollars);
      this.#hasSeveralModels ||= this.#model !== undefined && this.#model !== model;
      this.#model = model;
    } catch (error) {
      if (!(error instanceof LineError || error instanceof GatewayError)) throw error;
      this.errors.push(batchErrorOf(error, line.number));
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

const plus = (sum: number | null, dollars: number | null): number | null =>
  sum === null || dollars === null ? null : sum + dollars;

/** A range of large lines ends early. */
const maxRangeBytes = 64 * 1024 * 1024;
const maxRangeInputs = 8192;

const isLarge = ({ bytes, inputs }: SizedRange): boolean =>
  bytes >= maxRangeBytes || inputs >= maxRangeInputs;

/** An error of a line, with the code that OpenAI and Azure have for it. */
class LineError extends Error {
  override readonly name = "LineError";
  readonly code: string;
  readonly param: string | null;

  constructor(code: string, message: string, param: string | null = null) {
    super(message);
    this.code = code;
    this.param = param;
  }
}

interface ParsedLine {
  readonly customId: string;
  readonly body: unknown;
}

/** `endpoint`: the url of every line. Azure's clients leave out /v1. Throws LineError. */
export function parseLine({ text, problem }: InputLine, endpoint: string): ParsedLine {
  if (text === undefined) throw new LineError("invalid_json_line", problem ?? "");
  const fields = parseObject(text);
  const { custom_id: customId, method, url, body } = fields;
  for (const name of ["custom_id", "method", "url", "body"]) {
    if (fields[name] === undefined || fields[name] === null)
      throw new LineError(
        "missing_required_parameter",
        `Missing required parameter: '${name}'.`,
        name,
      );
  }
  if (typeof customId !== "string" || customId === "" || customId.length > 512)
    throw new LineError(
      "invalid_request",
      "Invalid 'custom_id': expected a string of 1 to 512 characters.",
      "custom_id",
    );
  if (method !== "POST")
    throw new LineError("invalid_request", "Invalid 'method': expected 'POST'.", "method");
  if (url !== endpoint && url !== endpoint.replace("/v1", ""))
    throw new LineError(
      "url_mismatch",
      `Invalid 'url': the endpoint of the batch is '${endpoint}'.`,
      "url",
    );
  if (typeof body !== "object" || Array.isArray(body))
    throw new LineError("invalid_request", "Invalid 'body': expected an object.", "body");
  if ("stream" in (body as object) && (body as { stream: unknown }).stream === true)
    throw new LineError(
      "invalid_request",
      "Invalid 'body.stream': a line of a batch cannot be a stream.",
      "body.stream",
    );
  return { customId, body };
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new LineError("invalid_json_line", "The line is not valid JSON.");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new LineError("invalid_json_line", "The line is not a JSON object.");
  return value as Record<string, unknown>;
}

function batchErrorOf(error: LineError | GatewayError, line: number): BatchError {
  const { message } = error;
  if (error instanceof LineError) return { code: error.code, message, param: error.param, line };
  const { code, param } = error.body.error;
  return {
    code: code ?? "invalid_request",
    message,
    param: param === null ? "body" : `body.${param}`,
    line,
  };
}
