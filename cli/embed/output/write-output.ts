/** Writes the vectors of a run in the format of the output, under another name until the file is complete. */
import { type FileHandle, open, rename } from "node:fs/promises";
import { resolve } from "node:path";
import { UsageError } from "../../command.ts";
import type { Vectors } from "./vectors.ts";
import { writeJsonl } from "./write-jsonl.ts";
import { writeNpy } from "./write-npy.ts";
import { writeParquet } from "./write-parquet.ts";

/** Writes the rows to the path. `idsPath`: for a format that has no place for ids. */
type Writer = (path: string, vectors: Vectors, idsPath: string) => Promise<void>;

const writers: Readonly<Record<string, Writer>> = {
  parquet: writeParquet,
  jsonl: writeJsonl,
  npy: writeNpy,
};

export interface OutputPaths {
  readonly output: string;
  readonly errors: string;
  /** The ids, for .npy only. */
  readonly ids: string;
  readonly checkpoint: string;
  readonly vectors: string;
  readonly lock: string;
}

/** Each name begins with the output, so two runs never share a file. Throws UsageError for another format. */
export function outputPaths(output: string): OutputPaths {
  const [, extension] = /\.(\w+)$/.exec(output) ?? [];
  if (extension === undefined || !Object.hasOwn(writers, extension))
    throw new UsageError(`--output must be a .parquet, .jsonl or .npy file, not ${output}`);
  return {
    output,
    errors: `${output}.errors.jsonl`,
    ids: `${output}.ids.jsonl`,
    checkpoint: `${output}.checkpoint`,
    vectors: `${output}.unfinished`,
    lock: `${output}.lock`,
  };
}

/** Every file that a run writes, as absolute paths. */
export const ownFiles = (paths: OutputPaths): ReadonlySet<string> =>
  new Set(Object.values(paths).flatMap((path: string) => [resolve(path), resolve(`${path}.new`)]));

export async function writeOutput({ output, ids }: OutputPaths, vectors: Vectors): Promise<void> {
  const extension = output.slice(output.lastIndexOf(".") + 1);
  const write = writers[extension] ?? writeJsonl;
  const [newOutput, newIds] = [`${output}.new`, `${ids}.new`];
  await write(newOutput, vectors, newIds);
  if (extension === "npy") {
    await flush(newIds);
    await rename(newIds, ids);
  }
  await flush(newOutput);
  await rename(newOutput, output);
}

/** A rename may reach the disk before the content of the file. */
async function flush(path: string): Promise<void> {
  const handle: FileHandle = await open(path, "r+");
  await handle.datasync();
  await handle.close();
}
