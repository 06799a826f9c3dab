/**
 * What an unfinished run has stored. The checkpoint names how many bytes of the vector file and of the error file are
 * valid; a run that continues cuts off what follows, so no row is lost or stored twice, whenever the process is killed.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { UsageError } from "../command.ts";
import type { Size } from "./estimate.ts";

/** The options that decide which vectors are written. They may not change between the runs. */
export type RunSettings = Readonly<Record<string, string | number | null>>;

const columnType = z.enum(["none", "boolean", "integer", "number", "time", "bytes", "text"]);

const schema = z.object({
  settings: z.record(z.string(), z.union([z.string(), z.number(), z.null()])).readonly(),
  /** Of the input. Null if it is standard input, which can be read only once. */
  size: z.object({ rows: z.number(), tokens: z.number() }).nullable(),
  /** Rows of the input that are settled: embedded or failed. */
  rows: z.number(),
  failed: z.number(),
  lastId: z.union([z.string(), z.number(), z.null()]),
  /** Of the settled rows (RowDigest). */
  digest: z.string(),
  vectorBytes: z.number(),
  errorBytes: z.number(),
  /** Numbers in a vector. Null if there is no vector yet. */
  vectorLength: z.number().nullable(),
  /** The other columns of the rows with a vector. */
  columns: z.array(z.tuple([z.string(), columnType])),
  tokens: z.number(),
});

export type Checkpoint = z.infer<typeof schema>;

export const newCheckpoint = (settings: RunSettings, size: Size | null): Checkpoint => ({
  settings,
  size,
  rows: 0,
  failed: 0,
  lastId: null,
  digest: "",
  vectorBytes: 0,
  errorBytes: 0,
  vectorLength: null,
  columns: [],
  tokens: 0,
});

/**
 * Undefined if the run has settled no row, so there is nothing to continue. Throws UsageError if the checkpoint
 * belongs to a run with other options.
 */
export function readCheckpoint(path: string, settings: RunSettings): Checkpoint | undefined {
  const parsed = schema.safeParse(parseJson(readFileSync(path, "utf8")));
  if (!parsed.success)
    throw new UsageError(`${path} is not a checkpoint. Delete it to start from the beginning`);
  const checkpoint = parsed.data;
  if (checkpoint.rows === 0) return undefined;
  const changed = Object.keys(settings).find(
    (name) => settings[name] !== checkpoint.settings[name],
  );
  if (changed === undefined) return checkpoint;
  const before = checkpoint.settings[changed] ?? "absent";
  throw new UsageError(
    `--output belongs to an unfinished run with another --${changed} (${before}). Give the same options, or delete ${path} to start from the beginning`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Replaces the file in one step. */
export function writeCheckpoint(path: string, checkpoint: Checkpoint): void {
  writeFileSync(`${path}.new`, JSON.stringify(checkpoint), { flush: true });
  renameSync(`${path}.new`, path);
}
