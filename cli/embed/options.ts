/** Reads the arguments of `vexel embed`. */
import { resolve } from "node:path";
import { didYouMean } from "../../server/lib/edit-distance.ts";
import { readArguments, UsageError } from "../command.ts";
import type { RunSettings } from "./checkpoint.ts";
import { type NumberType, numberTypes, typeNames } from "./number-types.ts";
import { type OutputPaths, outputPaths, ownFiles } from "./output/write-output.ts";
import type { InputOptions } from "./read-rows.ts";

export interface EmbedOptions extends InputOptions {
  readonly model: string;
  readonly paths: OutputPaths;
  readonly dimensions: number | undefined;
  readonly type: NumberType;
  readonly batchSize: number;
  readonly concurrency: number;
  readonly retries: number;
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  /** US dollars for a million tokens. */
  readonly price: number | undefined;
  readonly yes: boolean;
  /** Nothing is sent or written. */
  readonly dryRun: boolean;
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
    "output-dtype": { type: "string" },
    "batch-size": { type: "string" },
    concurrency: { type: "string" },
    retries: { type: "string" },
    since: { type: "string" },
    "since-column": { type: "string" },
    limit: { type: "string" },
    price: { type: "string" },
    "base-url": { type: "string" },
    yes: { type: "boolean" },
    "dry-run": { type: "boolean" },
  });
  const [unexpected] = positionals;
  if (unexpected !== undefined)
    throw new UsageError(`unexpected argument "${unexpected}": the input is --input FILE.`);
  if (values["since-column"] !== undefined && values.since === undefined)
    throw new UsageError("--since-column needs --since.");
  const idColumn = values["id-column"];
  const baseUrl =
    values["base-url"] || env.OPENAI_BASE_URL || `http://127.0.0.1:${env.PORT || 8080}/v1`;
  const input = required("input", values.input);
  const paths = outputPaths(required("output", values.output));
  const own = ownFiles(paths);
  if (own.has(resolve(input)))
    throw new UsageError(`--input: the run writes ${input} itself. Name another --output`);
  return {
    model: required("model", values.model),
    input,
    paths,
    ownFiles: own,
    otherColumns: paths.output.endsWith(".parquet"),
    idColumn,
    textColumn: values["text-column"] ?? "text",
    since: values.since,
    sinceColumn: values["since-column"] ?? idColumn ?? "id",
    limit: wholeNumber("limit", values.limit),
    dimensions: wholeNumber("dimensions", values.dimensions),
    type: readType(values["output-dtype"]),
    batchSize: wholeNumber("batch-size", values["batch-size"], 2048) ?? 100,
    concurrency: wholeNumber("concurrency", values.concurrency, 256) ?? 4,
    retries: values.retries === "0" ? 0 : (wholeNumber("retries", values.retries, 100) ?? 8),
    baseUrl: checkUrl(baseUrl.replace(/\/+$/, "")),
    apiKey: env.OPENAI_API_KEY || undefined,
    price: readPrice(values.price),
    yes: values.yes ?? false,
    dryRun: values["dry-run"] ?? false,
  };
}

/** By the names of the options. */
export const runSettings = (options: EmbedOptions): RunSettings => ({
  model: options.model,
  input: options.input,
  dimensions: options.dimensions ?? null,
  "output-dtype": options.type.name,
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

function readType(value = "float"): NumberType {
  const name = typeNames.find((each) => each === value);
  if (name) return numberTypes[name];
  const meant = didYouMean(value, typeNames, (each) => each);
  throw new UsageError(
    `--output-dtype must be ${typeNames.slice(0, -1).join(", ")} or ${typeNames.at(-1)}, not "${value}"${meant}.`,
  );
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
