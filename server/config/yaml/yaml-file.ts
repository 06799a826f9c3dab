/** `vexel.yaml` as a file: read, and loaded again after each change. */
import { readFileSync, statSync } from "node:fs";
import { errorCode } from "../../lib/error-code.ts";
import { runAtOnce, runInSteps } from "../../lib/tasks.ts";
import type { ValidationOptions } from "../validate/validate-config.ts";
import { parseFile } from "./parse-file.ts";
import type { Environment } from "./parse-yaml.ts";
import { aboutFile, type Problem } from "./problem.ts";
import { problemsOf, type ReadOptions, readConfig, type YamlConfig } from "./read-config.ts";
import { YamlThread } from "./read-yaml-thread.ts";

interface ReadYamlOptions extends Omit<ValidationOptions, "inForce"> {
  readonly path: string;
  readonly env: Environment;
  /** The setting or option that names the file: it must exist. If absent, the path is the default. */
  readonly namedBy?: string | undefined;
}

export type ReadYaml = YamlConfig | InvalidYaml;

interface InvalidYaml {
  readonly ok: false;
  readonly problems: readonly Problem[];
}

/** At the start and in commands, where no request waits. An absent file at the default path counts as an empty one. */
export function readYaml({ path, env, namedBy, ...options }: ReadYamlOptions): ReadYaml {
  const found = fileText(path);
  const problem = unreadable(found, path, namedBy);
  if (problem) return { ok: false, problems: [problem] };
  return readText({ ...options, text: found.text ?? "", file: path, env });
}

export function readText({ env, ...options }: ReadOptions & { env: Environment }): ReadYaml {
  const { file, locate } = parseFile({ text: options.text, env });
  const read = runAtOnce(readConfig(file, options));
  if (read.ok) return read;
  return { ok: false, problems: problemsOf(options.file, read, locate(read.notes)) };
}

/** Reads the file again, in a thread and in steps. Undefined if it is as the one in force. */
export async function reloadYaml(
  { path, env, namedBy, ...options }: ReadYamlOptions,
  inForce: YamlConfig,
): Promise<ReadYaml | undefined> {
  const found = fileText(path);
  const { text = "" } = found;
  const problem = unreadable(found, path, namedBy) ?? truncated(found, path, inForce);
  if (problem) return { ok: false, problems: [problem] };
  if (text === inForce.text) return undefined;
  using thread = new YamlThread({ text, env });
  const parsed = await thread.parsed();
  const { readEntries } = inForce;
  const read = await runInSteps(
    readConfig(parsed, { ...options, text, file: path, inForce: readEntries }),
  );
  if (read.ok) return read;
  return { ok: false, problems: problemsOf(path, read, await thread.locate(read.notes)) };
}

function unreadable(
  { text, error }: FileText,
  path: string,
  namedBy: string | undefined,
): Problem | undefined {
  if (error !== undefined) return aboutFile(path, error, namedBy);
  if (text !== undefined || namedBy === undefined) return undefined;
  return aboutFile(path, "does not exist. Create it or correct the path.", namedBy);
}

/** Probably a write in progress: the file is truncated first. */
function truncated({ text }: FileText, path: string, inForce: YamlConfig): Problem | undefined {
  if (inForce.isEmpty || text) return undefined;
  const what = text === "" ? "is empty" : "was deleted";
  return aboutFile(path, `${what}: the previous configuration stays in force`);
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
