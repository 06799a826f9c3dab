/** Reads the arguments of `vexel embed`. */
import { readArguments, UsageError } from "../command.ts";
import type { RunSettings } from "./checkpoint.ts";
import { type OutputPaths, outputPaths } from "./output/write-output.ts";
import type { InputOptions } from "./read-rows.ts";

export interface EmbedOptions extends InputOptions {
  readonly model: string;
  readonly paths: OutputPaths;
  readonly dimensions: number | undefined;
  readonly batchSize: number;
  readonly concurrency: number;
  readonly retries: number;
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  /** US dollars for a million tokens. */
  readonly price: number | undefined;
  readonly yes: boolean;
}

export function readOptions(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): EmbedOptions {
  const { values, positionals } = readArguments(args, {
    model: { type: "string" },
    input: { type: "string" },
    output: { type: "string" },
    "id-column": { type: "string" },
    "text-column": { type: "string" },
    dimensions: { type: "string" },
    "batch-size": { type: "string" },
    concurrency: { type: "string" },
    retries: { type: "string" },
    since: { type: "string" },
    "since-column": { type: "string" },
    limit: { type: "string" },
    price: { type: "string" },
    "base-url": { type: "string" },
    yes: { type: "boolean" },
  });
  const [unexpected] = positionals;
  if (unexpected !== undefined) throw new UsageError(`unexpected argument "${unexpected}".`);
  if (values["since-column"] !== undefined && values.since === undefined)
    throw new UsageError("--since-column needs --since.");
  const idColumn = values["id-column"];
  const baseUrl =
    values["base-url"] || env.OPENAI_BASE_URL || `http://127.0.0.1:${env.PORT || 8080}/v1`;
  return {
    model: required("model", values.model),
    input: required("input", values.input),
    paths: outputPaths(required("output", values.output)),
    idColumn,
    textColumn: values["text-column"] ?? "text",
    since: values.since,
    sinceColumn: values["since-column"] ?? idColumn ?? "id",
    limit: wholeNumber("limit", values.limit),
    dimensions: wholeNumber("dimensions", values.dimensions),
    batchSize: wholeNumber("batch-size", values["batch-size"], 2048) ?? 100,
    concurrency: wholeNumber("concurrency", values.concurrency, 256) ?? 4,
    retries: values.retries === "0" ? 0 : (wholeNumber("retries", values.retries, 100) ?? 8),
    baseUrl: checkUrl(baseUrl.replace(/\/+$/, "")),
    apiKey: env.OPENAI_API_KEY || undefined,
    price: readPrice(values.price),
    yes: values.yes ?? false,
  };
}

/** By the names of the options. */
export const runSettings = (options: EmbedOptions): RunSettings => ({
  model: options.model,
  input: options.input,
  dimensions: options.dimensions ?? null,
  "id-column": options.idColumn ?? null,
  "text-column": options.textColumn,
  since: options.since ?? null,
  "since-column": options.sinceColumn,
  limit: options.limit ?? null,
});

function required(name: string, value: string | undefined): string {
  if (!value) throw new UsageError(`--${name} is required.`);
  return value;
}

function wholeNumber(
  name: string,
  value: string | undefined,
  max = Number.MAX_SAFE_INTEGER,
): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (Number.isInteger(number) && number >= 1 && number <= max) return number;
  const range = max === Number.MAX_SAFE_INTEGER ? "of at least 1" : `from 1 to ${max}`;
  throw new UsageError(`--${name} must be a whole number ${range}, not "${value}".`);
}

function readPrice(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const price = Number(value);
  if (value.trim() !== "" && price >= 0) return price;
  throw new UsageError(`--price must be US dollars for a million tokens, not "${value}".`);
}

function checkUrl(url: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new UsageError(
    `--base-url must be an http or https URL such as http://127.0.0.1:8080/v1, not "${url}".`,
  );
}
