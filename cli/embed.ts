/** vexel embed: embeds a corpus with any OpenAI-compatible server, and continues where it was stopped. */
import { createInterface } from "node:readline";
import { errorCode, errorMessage } from "../server/lib/error-code.ts";
import { sleep } from "../server/lib/timers.ts";
import { type Command, UsageError } from "./command.ts";
import { EmbeddingClient } from "./embed/client.ts";
import { costOf, listedPrice, measure, printCost, type Size } from "./embed/estimate.ts";
import { type EmbedOptions, readOptions, runSettings } from "./embed/options.ts";
import { ProgressBar, type Screen } from "./embed/progress.ts";
import { readRows } from "./embed/read-rows.ts";
import { run } from "./embed/run.ts";
import { RunStore } from "./embed/run-store.ts";
import { ServerError } from "./embed/server-error.ts";

export const embed: Command = {
  name: "embed",
  summary: "Embed a file or a folder of texts.",
  help: `Usage: vexel embed --model MODEL --input FILE --output FILE [options]

--input is a .jsonl, .csv or .parquet file, a folder (each text file is a row, its path the
id), or "-" for JSON Lines on standard input. --output is a .parquet, .jsonl or .npy file;
the ids of a .npy file are in a file NAME.ids.jsonl. Rows that fail are in
NAME.errors.jsonl, which can be the input of another run.

A run that was stopped or killed goes on where it stopped: give the same command again.

  --base-url URL        The OpenAI-compatible server (default OPENAI_BASE_URL, or the
                        gateway on this machine). OPENAI_API_KEY is its API key.
  --id-column NAME      Default "id", or the number of the row if there is none.
  --text-column NAME    Default "text".
  --since VALUE         Only rows whose --since-column is greater: a time, a number or a text.
  --since-column NAME   Default: the id column. A folder has the column "modified".
  --limit N             Only the first N rows.
  --dimensions N        The length of the vectors, if the model can shorten them.
  --batch-size N        Texts in a request (default 100).
  --concurrency N       Requests at the same time (default 4).
  --retries N           Of a request, with growing waits (default 8).
  --price DOLLARS       For a million tokens. Default: the list price, if it is known.
  --yes                 Do not ask before the start. Without a terminal nothing is asked.

Exit codes: 0 all texts were embedded; 1 stopped by an error; 2 invalid arguments; 3 finished,
but some texts failed; 130 stopped by Ctrl-C.`,
  run: async (args) => {
    const options = readOptions(args, process.env);
    const settings = runSettings(options);
    const found = RunStore.find(options.paths, settings);
    const price = options.price ?? listedPrice(options.model);
    const size = found ? found.size : await sizeOf(options);
    announce(options, size, price, found?.rows);
    if (!(await isConfirmed(options))) return 130;
    const store = await RunStore.open(options.paths, settings, found, size);
    try {
      return await embedAll(options, store, price);
    } finally {
      await store.close();
    }
  },
};

const print = (text: string): void => {
  process.stderr.write(text);
};

const sizeOf = async (options: EmbedOptions): Promise<Size | null> =>
  options.input === "-" ? null : measure(readRows(options));

function announce(
  { input, model, baseUrl, price: given }: EmbedOptions,
  size: Size | null,
  price: number | undefined,
  done: number | undefined,
): void {
  if (done !== undefined) print(`Continues after ${done} rows.\n`);
  if (size === null) {
    print("The size of standard input is not known, so there is no estimate of the cost.\n");
    return;
  }
  const list = given === undefined && price !== undefined ? " by list price" : "";
  const hint = price === undefined ? "; --price gives it" : list;
  const cost = `${printCost(costOf(size.tokens, price))}${hint}`;
  print(
    `${input}: ${size.rows} rows, about ${size.tokens} tokens, ${cost}. Model ${model} at ${baseUrl}.\n`,
  );
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
  const client = new EmbeddingClient({
    ...options,
    signal: abort.signal,
    fetch,
    sleep,
    random: Math.random,
  });
  const progress = new ProgressBar(screen, price, store.checkpoint.rows);
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
    await store.finish();
    return report(options, store);
  } catch (error) {
    // An error of the operating system, such as a full disk, has a code.
    if (error instanceof UsageError || !(error instanceof ServerError || errorCode(error)))
      throw error;
    if (error instanceof ServerError) await store.save();
    progress.end(store.checkpoint);
    print(`vexel embed: ${errorMessage(error)}\nGive the same command again to continue.\n`);
    return 1;
  } finally {
    interrupt.stopListening();
  }
}

function report({ paths }: EmbedOptions, { checkpoint: { rows, failed } }: RunStore): number {
  print(`${paths.output}: ${rows - failed} vectors.\n`);
  if (failed === 0) return 0;
  print(`${paths.errors}: ${failed} rows failed.\n`);
  return 3;
}

const screen: Screen = {
  isTerminal: process.stderr.isTTY ?? false,
  write: print,
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
