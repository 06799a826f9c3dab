/** The files of a run: appends results, saves checkpoints, and writes the output at the end. */
import { existsSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { UsageError } from "../command.ts";
import { addTypes, type ColumnTypes, printCell } from "./cells.ts";
import type { RunSettings } from "./checkpoint.ts";
import { type Checkpoint, newCheckpoint, readCheckpoint, writeCheckpoint } from "./checkpoint.ts";
import type { EmbeddedBatch } from "./embed-batch.ts";
import type { Size } from "./estimate.ts";
import type { NumberType } from "./number-types.ts";
import { type OutputPaths, writeOutput } from "./output/write-output.ts";
import { type FailedRow, isFailed, notFailed, type VectorRow } from "./row.ts";
import { RowDigest } from "./row-digest.ts";
import { ServerError } from "./server-error.ts";
import { encodeRecord, readRecords } from "./vector-file.ts";

/** Rows that were embedded since the last checkpoint are embedded again after a crash. */
const saveEveryMs = 1000;

export class RunStore {
  readonly checkpoint: Checkpoint;
  readonly paths: OutputPaths;
  readonly #vectors: FileHandle;
  readonly #errors: FileHandle;
  readonly #columns: ColumnTypes;
  /** Of the settled rows. A run that continues adds those of earlier runs while it skips them. */
  readonly digest = new RowDigest();
  #savedAt = performance.now();

  private constructor(
    checkpoint: Checkpoint,
    paths: OutputPaths,
    vectors: FileHandle,
    errors: FileHandle,
  ) {
    this.checkpoint = checkpoint;
    this.paths = paths;
    this.#vectors = vectors;
    this.#errors = errors;
    this.#columns = new Map(checkpoint.columns);
  }

  /** Undefined if the output belongs to no unfinished run. Throws UsageError if it exists, or if the options differ. */
  static find(paths: OutputPaths, settings: RunSettings): Checkpoint | undefined {
    if (existsSync(paths.checkpoint)) {
      const found = readCheckpoint(paths.checkpoint, settings);
      if (found) return found;
    }
    if (existsSync(paths.output))
      throw new UsageError(`--output: ${paths.output} exists. Delete it, or name another file`);
    return undefined;
  }

  /** `size`: of the input, for a new run. */
  static async open(
    paths: OutputPaths,
    settings: RunSettings,
    found: Checkpoint | undefined,
    size: Size | null,
  ): Promise<RunStore> {
    const checkpoint = found ?? newCheckpoint(settings, size);
    const vectors = await openAt(paths.vectors, checkpoint.vectorBytes);
    const errors = await openAt(paths.errors, checkpoint.errorBytes);
    const store = new RunStore(checkpoint, paths, vectors, errors);
    await store.save();
    return store;
  }

  /** Throws ServerError if the vectors of the server have another length than before. */
  async append({ rows, results, tokens }: EmbeddedBatch): Promise<void> {
    const { checkpoint } = this;
    const failed = results.filter(isFailed);
    const embedded = notFailed<VectorRow>(results);
    for (const { vector } of embedded) {
      checkpoint.vectorLength ??= vector.length;
      if (vector.length !== checkpoint.vectorLength) {
        const lengths = `${vector.length} instead of ${checkpoint.vectorLength}`;
        throw ServerError.ofInvalidResponse(`the length of a vector is ${lengths}.`);
      }
    }
    const vectorBytes = Buffer.concat(embedded.map(encodeRecord));
    const errorBytes = Buffer.from(failed.map(errorLine).join(""));
    await this.#vectors.write(vectorBytes, 0, vectorBytes.length, checkpoint.vectorBytes);
    await this.#errors.write(errorBytes, 0, errorBytes.length, checkpoint.errorBytes);
    for (const { cells } of embedded) if (cells) addTypes(this.#columns, cells);
    for (const row of rows) this.digest.add(row);
    checkpoint.columns = [...this.#columns];
    checkpoint.digest = this.digest.hex();
    checkpoint.vectorBytes += vectorBytes.length;
    checkpoint.errorBytes += errorBytes.length;
    checkpoint.rows += results.length;
    checkpoint.failed += failed.length;
    checkpoint.lastId = results.at(-1)?.id ?? checkpoint.lastId;
    checkpoint.tokens += tokens;
    if (performance.now() - this.#savedAt >= saveEveryMs) await this.save();
  }

  /** The files are on disk before the checkpoint that refers to them. */
  async save(): Promise<void> {
    await this.#vectors.datasync();
    await this.#errors.datasync();
    writeCheckpoint(this.paths.checkpoint, this.checkpoint);
    this.#savedAt = performance.now();
  }

  async close(): Promise<void> {
    await this.#vectors.close();
    await this.#errors.close();
  }

  /** Deletes the files of the run: it has no vector. */
  discard(): void {
    for (const path of [this.paths.checkpoint, this.paths.vectors, this.paths.errors])
      rmSync(path, { force: true });
  }

  /** Writes the output, and deletes the files of the run. A run that is killed here is finished by the next one. */
  async finish(type: NumberType): Promise<void> {
    await this.save();
    const { vectorBytes: bytes, rows, failed } = this.checkpoint;
    const vectorLength = this.checkpoint.vectorLength ?? 0;
    const path = this.paths.vectors;
    await writeOutput(this.paths, {
      count: rows - failed,
      vectorLength,
      type,
      columns: this.#columns,
      rows: readRecords({ path, bytes, vectorLength, type }),
    });
    rmSync(this.paths.checkpoint);
    rmSync(this.paths.vectors);
    if (failed === 0) rmSync(this.paths.errors);
  }
}

/** A row of the error file, which can be the input of another run. */
const errorLine = ({ id, text, error, cells = [] }: FailedRow): string => {
  const others = Object.fromEntries(cells.map((cell) => [cell.name, printCell(cell)]));
  return `${JSON.stringify({ ...others, id, text, error })}\n`;
};

/** Opens the file and cuts off what follows the checkpoint. */
async function openAt(path: string, bytes: number): Promise<FileHandle> {
  const handle = await open(path, existsSync(path) ? "r+" : "w+");
  const { size } = await handle.stat();
  if (size < bytes) {
    await handle.close();
    throw new UsageError(`${path} is shorter than its checkpoint says. Delete the checkpoint`);
  }
  await handle.truncate(bytes);
  return handle;
}
