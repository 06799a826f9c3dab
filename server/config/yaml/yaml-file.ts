/** `vexel.yaml` as a file: read, and loaded again after each change. */
import { readFileSync, statSync } from "node:fs";
import { errorCode } from "../../lib/error-code.ts";
import { aboutFile, describeProblems, type Problem } from "./problem.ts";
import { type ReadConfig, type ReadOptions, readConfig, type YamlConfig } from "./read-yaml.ts";

interface ReadYamlOptions extends Omit<ReadOptions, "text" | "file"> {
  readonly path: string;
  /** The setting or option that names the file: it must exist. Absent: the path is the default. */
  readonly namedBy?: string | undefined;
}

/** An absent file at the default path counts as an empty one. */
export function readYaml(
  { path, namedBy, ...options }: ReadYamlOptions,
  { text, error } = fileText(path),
): ReadConfig {
  if (error !== undefined) return { ok: false, problems: [aboutFile(path, error, namedBy)] };
  if (text === undefined && namedBy !== undefined) {
    const message = "does not exist. Create it or correct the path.";
    return { ok: false, problems: [aboutFile(path, message, namedBy)] };
  }
  return readConfig({ ...options, text: text ?? "", file: path });
}

/** The file is invalid. */
export class InvalidConfig extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(describeProblems(problems));
    this.problems = problems;
  }
}

/** Returns the function that loads the file. It throws InvalidConfig. */
export function createYamlLoader(options: ReadYamlOptions): () => YamlConfig {
  const { path } = options;
  let hasEntries = false;
  return () => {
    const file = fileText(path);
    // Probably a write in progress: the file is truncated first.
    if (hasEntries && !file.text && file.error === undefined) {
      const what = file.text === "" ? "is empty" : "was deleted";
      const message = `${what}: the previous configuration stays in force`;
      throw new InvalidConfig([aboutFile(path, message)]);
    }
    const read = readYaml(options, file);
    if (!read.ok) throw new InvalidConfig(read.problems);
    hasEntries = Object.keys(read.raw).length > 0;
    return read;
  };
}

interface FileText {
  readonly text?: string;
  readonly error?: string;
}

const maxBytes = 1024 * 1024;
const tooLarge = { error: "is larger than 1 MiB" };

/** Reads a small text file. Neither text nor error: the file does not exist. */
export function fileText(path: string): FileText {
  let bytes: Uint8Array;
  try {
    const about = statSync(path);
    // Reading a pipe would block.
    if (!about.isFile()) return { error: "is not a regular file" };
    if (about.size > maxBytes) return tooLarge;
    bytes = readFileSync(path);
  } catch (error) {
    const code = errorCode(error) || "unknown error";
    if (code === "ENOENT") return {};
    return { error: errorMessages[code] ?? `cannot be read (${code})` };
  }
  if (bytes.length > maxBytes) return tooLarge;
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { error: "is not UTF-8 text" };
  }
}

const errorMessages: Readonly<Record<string, string>> = {
  EACCES: "may not be read: permission denied",
  ENOTDIR: "does not exist: a part of its path is not a directory",
};
