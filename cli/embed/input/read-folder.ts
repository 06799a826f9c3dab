/**
 * Reads a folder: each file is a row, in the order of the names. Files and folders whose name begins with ".", and
 * the files of the run itself, are left out.
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { SourceRow } from "../row.ts";

/** `ownFiles`: absolute paths. */
export async function* readFolder(
  folder: string,
  ownFiles: ReadonlySet<string>,
): AsyncGenerator<SourceRow> {
  for await (const path of filesBelow(folder, "")) {
    if (!ownFiles.has(resolve(folder, path))) yield await readTextFile(folder, path);
  }
}

async function* filesBelow(folder: string, below: string): AsyncGenerator<string> {
  const entries = await readdir(join(folder, below), { withFileTypes: true });
  const visible = entries.filter(({ name }) => !name.startsWith("."));
  for (const entry of visible.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) yield* filesBelow(folder, path);
    else if (entry.isFile()) yield path;
  }
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

async function readTextFile(folder: string, path: string): Promise<SourceRow> {
  const bytes = await readFile(join(folder, path));
  const modified = (await stat(join(folder, path))).mtime.toISOString();
  const columns = { id: path, modified };
  if (bytes.includes(0)) return { columns, problem: "The file is not a text." };
  try {
    return { columns: { ...columns, text: strictUtf8.decode(bytes) } };
  } catch {
    return { columns, problem: "The file is not a text in UTF-8." };
  }
}
