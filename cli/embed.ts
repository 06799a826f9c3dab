/** vexel embed: embeds a corpus with any OpenAI-compatible server, and continues where it was stopped. */
import { createInterface } from "node:readline";
import { errorCode, errorMessage } from "../server/lib/error-code.ts";
import { sleep } from "../server/lib/timers.ts";
import { type Command, UsageError } from "./command.ts";
import { adviceFor } from "./embed/advice.ts";
import { maxColumns } from "./embed/cells.ts";
import { EmbeddingClient, type Retry } from "./embed/client.ts";
import { describeEmpty, describeRows, describeSize } from "./embed/describe-input.ts";
import { type Inspection, inspect } from "./embed/estimate.ts";
import { type EmbedOptions, readOptions, runSettings } from "./embed/options.ts";
import { checkOutputFolder, lockOutput } from "./embed/output-lock.ts";
import { type ModelPrice, priceOf } from "./embed/price.ts";
import { ProgressBar, type Screen } from "./embed/progress.ts";
import { isOtherColumn, readRows } from "./embed/read-rows.ts";
import { run } from "./embed/run.ts";
import { RunStore } from "./embed/run-store.ts";
import { ServerError } from "./embed/server-error.ts";
import { writeError, writeOutput } from "./write.ts";

export const embed: Command = {
  name: "embed",
  summary: "Embed a file or a folder of texts.",
  help: `Usage: vexel embed --model MODEL --input FILE --output FILE [options]

--input is a .jsonl, .csv or .parquet file, a folder (each text file is a row, its path the
id), or "-" for JSON Lines on standard input. --output is a .parquet, .jsonl or .npy file;
the ids of a .npy file are in a file OUTPUT.ids.jsonl, and a .parquet file has the other
columns of the rows too. Rows that fail are in
OUTPUT.errors.jsonl, which can be the input of another run.

A run that was stopped or killed goes on where it stopped: give the same command again.

  --base-url URL        The OpenAI-compatible server (default OPENAI_BASE_URL, or the
                        gateway on this machine). OPENAI_API_KEY is its API key.
  --id-column NAME      Default "id", or the number of the row if there is none.
  --text-column NAME    Default "text".
  --since VALUE         Only rows whose --since-column is greater: a time, a number or a text.
  --since-column NAME   Default: the id column. A folder has the column "modified".
  --limit N             Only the first N rows.
  --dimensions N        The length of the vectors, if the model can shorten them.
  --output-dtype TYPE   float (default), int8, uint8, binary or ubinary, if the server
                        supports output_dtype.
  --batch-size N        Texts in a request (default 100).
  --concurrency N       Requests at the same time (default 4).
  --retries N           Of a request, with growing waits (default 8).
  --price DOLLARS       For a million tokens. Default: the price in the configuration of the
                        gateway on this machine, or the list price, if it is known.
  --dry-run             Show the columns, the first text and the estimate. Send and write nothing.
  --yes                 Do not ask before the start. Without a terminal nothing is asked.

Exit codes: 0 all texts were embedded; 1 stopped by an error; 2 invalid arguments; 3 finished,
but some texts failed; 130 stopped by Ctrl-C.`,
  run: async (args) => {
    const options = readOptions(args, process.env);
    const price = await priceFor(options);
    if (options.dryRun) return dryRun(options, price);
    // Held to the end of the run.
    using _lock = lockOutput(options.paths);
    const settings = runSettings(options);
    const found = RunStore.find(options.paths, settings);
    const size = found ? found.size : await inspectAndWarn(options);
    if (found) print(`Continues after ${found.rows} rows.\n`);
    if (size) print(describeSize(options, size, price));
    else print("The size of standard input is not known, so there is no estimate of the cost.\n");
    if (!(await isConfirmed(options))) return 130;
    const store = await RunStore.open(options.paths, settings, found, size);
    try {
      return await embedAll(options, store, price.dollars);
    } finally {
      // A run without a settled row is not continued, so its files are of no use.
      if (store.checkpoint.rows === 0) store.discard();
      await store.close();
    }
  },
};

const print = writeError;

const priceFor = async ({ price, model, baseUrl }: EmbedOptions): Promise<ModelPrice> =>
  price === undefined ? priceOf(model, baseUrl) : { dollars: price, isListed: false };

/** Null if standard input can be read only once. */
async function inspectAndWarn(options: EmbedOptions): Promise<Inspection | null> {
  if (options.input === "-") return null;
  const found = await inspect(options);
  if (options.otherColumns) warnOfHiddenColumns(options, found);
  return found;
}

/** The output has columns of its own under these names. */
function warnOfHiddenColumns(options: EmbedOptions, { columns }: Inspection): void {
  const { idColumn = "id", textColumn } = options;
  const hidden = columns.filter(
    (name) => name !== idColumn && name !== textColumn && !isOtherColumn(name, options),
  );
  for (const name of hidden)
    print(`warning: the column "${name}" of the input is not in the output, which has its own.\n`);
}

/** Reads the whole input, also standard input. */
async function dryRun(options: EmbedOptions, price: ModelPrice): Promise<number> {
  checkOutputFolder(options.paths);
  const continued = RunStore.find(options.paths, runSettings(options));
  const found = await inspect(options);
  const lines = [
    ...(found.rows === 0 ? [describeEmpty(options)] : [describeRows(options, found)]),
    ...(continued ? [`Continues after ${continued.rows} rows.\n`] : []),
    describeSize(options, found, price),
    "Nothing was sent.\n",
  ];
  writeOutput(lines.join(""));
  return 0;
}

async function isConfirmed({ yes, input }: EmbedOptions): Promise<boolean> {
  if (yes || input === "-" || !process.stdin.isTTY || !process.stderr.isTTY) return true;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const { promise, resolve } = Promise.withResolvers<string>();
  terminal.question("Start? [y/N] ", resolve);
  // Ctrl-C and the end of the input mean no.
  terminal.on("SIGINT", () => terminal.close());
  terminal.on("close", () => resolve(""));
  const answer = await promise;
  terminal.close();
  return /^y(?:es)?$/i.test(answer.trim());
}

async function embedAll(
  options: EmbedOptions,
  store: RunStore,
  price: number | undefined,
): Promise<number> {
  const abort = new AbortController();
  const interrupt = listenForInterrupt();
  const progress = new ProgressBar(screen, price, store.checkpoint.rows);
  const client = new EmbeddingClient({
    ...options,
    signal: abort.signal,
    fetch,
    sleep,
    random: Math.random,
    onRetry: (retry) => progress.note(describeRetry(retry)),
  });
  try {
    const isComplete = await run({
      ...options,
      rows: readRows(options),
      client,
      abort,
      store,
      stop: interrupt.signal,
      onProgress: () => progress.update(store.checkpoint),
    });
    progress.end(store.checkpoint);
    if (!isComplete) {
      await store.save();
      print("Stopped. Give the same command again to continue.\n");
      return 130;
    }
    print(`Writing ${options.paths.output} ...\n`);
    await store.finish(options.type);
    return report(options, store);
  } catch (error) {
    // An error of the operating system, such as a full disk, has a code.
    if (error instanceof UsageError || !(error instanceof ServerError || errorCode(error)))
      throw error;
    if (error instanceof ServerError) await store.save();
    progress.end(store.checkpoint);
    const advice =
      error instanceof ServerError
        ? adviceFor(error, { ...options, wasReached: client.wasReached })
        : "Give the same command again to continue.";
    print(`vexel embed: ${errorMessage(error)}\n${advice && `${advice}\n`}`);
    return 1;
  } finally {
    interrupt.stopListening();
  }
}

const describeRetry = ({ error, number, of, afterMs }: Retry): string =>
  `${error.message} Retry ${number} of ${of} in ${(afterMs / 1000).toFixed(1)} s.`;

function report(
  options: EmbedOptions,
  { checkpoint: { rows, failed, columns } }: RunStore,
): number {
  const { paths } = options;
  if (rows === 0) print(describeEmpty(options));
  if (columns.length === maxColumns)
    print(`warning: ${paths.output} has ${maxColumns} other columns: further ones are left out.\n`);
  print(`${paths.output}: ${rows - failed} vectors.\n`);
  if (failed === 0) return 0;
  print(`${paths.errors}: ${failed} rows failed.\n`);
  return 3;
}

const screen: Screen = {
  isTerminal: process.stderr.isTTY ?? false,
  // The progress bar moves the cursor.
  write: (text) => void process.stderr.write(text),
  now: () => performance.now(),
};

/** The first Ctrl-C lets the requests in flight finish, which are paid for; the second one ends the process. */
function listenForInterrupt() {
  const stop = new AbortController();
  const onSignal = (): void => {
    print("\nStopping: waits for the requests in flight. Ctrl-C again stops at once.\n");
    stopListening();
    stop.abort();
  };
  const stopListening = (): void => {
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  return { signal: stop.signal, stopListening };
}
