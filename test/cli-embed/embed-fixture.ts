/** Runs `vexel embed` in tests, and reads its outputs back. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { type Fake, fakeVector } from "../fake-upstream.ts";
import { type Ended, vexel } from "../process/process-fixture.ts";

export const dimensions = 8;

interface OutputRow {
  readonly id: string | number;
  readonly embedding: readonly number[];
}

export const serverEnvironment = ({ url }: Pick<Fake, "url">, key = "sk-fake") => ({
  OPENAI_BASE_URL: url,
  OPENAI_API_KEY: key,
});

export const modelArguments = [
  "--model",
  "text-embedding-3-small",
  "--dimensions",
  `${dimensions}`,
];

export const embedWith = (fake: Fake, cwd: string, ...args: string[]): Promise<Ended> =>
  vexel(["embed", ...modelArguments, ...args], { cwd, env: serverEnvironment(fake) });

export const readLines = (folder: string, name: string): string[] =>
  readFileSync(join(folder, name), "utf8").split("\n").slice(0, -1);

export const readJsonLines = <T = OutputRow>(folder: string, name: string): T[] =>
  readLines(folder, name).map((line): T => JSON.parse(line));

export async function readParquetFile(
  folder: string,
  name: string,
): Promise<Record<string, unknown>[]> {
  const file = await asyncBufferFromFile(join(folder, name));
  return parquetReadObjects({ file });
}

/** The shape and the numbers of a .npy file, by NumPy's description of the format. */
export function readNpy(folder: string, name: string) {
  const bytes = readFileSync(join(folder, name));
  const headerLength = bytes.readUInt16LE(8);
  const header = bytes.toString("latin1", 10, 10 + headerLength);
  const data = new Uint8Array(bytes.subarray(10 + headerLength));
  const arrays = { "<f4": Float32Array, "|i1": Int8Array, "|u1": Uint8Array };
  const [, type] = /'descr': '([^']+)'/.exec(header) ?? [];
  const numbers = new arrays[type as keyof typeof arrays](data.buffer);
  const magic = bytes.toString("latin1", 0, 8);
  return { magic, header, numbers, isAligned: (10 + headerLength) % 64 === 0 };
}

export const vectorOf = (text: string): number[] => [...fakeVector(text, dimensions)];

export const texts = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ id: `doc-${at}`, text: `text number ${at}` }));

export function writeJsonl(folder: string, name: string, rows: readonly unknown[]): void {
  writeFileSync(join(folder, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
}
