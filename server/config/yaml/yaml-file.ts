/** `vexel.yaml` as a file: read, and loaded again after each change. */
import { readFileSync, statSync } from "node:fs";
import { errorCode } from "../../lib/error-code.ts";
import { runInSteps } from "../../lib/tasks.ts";
import { aboutFile, describeProblems, type Problem } from "./problem.ts";
import { type ReadConfig, type ReadOptions, readConfig, type YamlConfig } from "./read-yaml.ts";
import { YamlThread } from "./read-yaml-thread.ts";
import { unpackYaml } from "./unpack-yaml.ts";

interface ReadYamlOptions extends Omit<ReadOptions, "text" | "file"> {
  readonly path: string;
  /** The setting or option that names the file: it must exist. If absent, the path is the default. */
  readonly namedBy?: string | undefined;
}

/** An absent file at the default path counts as an empty one. */
export function readYaml(
  { path, namedBy, ...options }: ReadYamlOptions,
  file = fileText(path),
): ReadConfig {
  const problem = unreadable(file, path, namedBy);
  if (problem) return { ok: false, problems: [problem] };
  return readConfig({ ...options, text: file.text ?? "", file: path });
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

/** The file is invalid. */
export class InvalidConfig extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(describeProblems(problems));
    this.problems = problems;
  }
}

/** For the start. Throws InvalidConfig. */
export function loadYaml(options: ReadYamlOptions): YamlConfig {
  const read = readYaml(options);
  if (read.ok) return read;
  throw new InvalidConfig(read.problems);
}

/** Reads the file again, in a thread. Undefined if it is as the one in force. Rejects with InvalidConfig. */
export async function reloadYaml(
  { path, namedBy, ...options }: ReadYamlOptions,
  inForce: YamlConfig,
): Promise<YamlConfig | undefined> {
  const file = fileText(path);
  const { text = "", error } = file;
  // Probably a write in progress: the file is truncated first.
  if (Object.keys(inForce.raw).length > 0 && text === "" && error === undefined) {
    const what = file.text === "" ? "is empty" : "was deleted";
    const message = `${what}: the previous configuration stays in force`;
    throw new InvalidConfig([aboutFile(path, message)]);
  }
  const problem = unreadable(file, path, namedBy);
  if (problem) throw new InvalidConfig([problem]);
  if (text === inForce.text) return undefined;
  using thread = new YamlThread({ text, env: options.env });
  const packed = await thread.parsed();
  const unpacked =
    packed && (await runInSteps(unpackYaml(packed, { ...options, file: path, text, inForce })));
  if (unpacked) return unpacked;
  const problems = await thread.problems({ file: path, provisioned: options.provisioned ?? [] });
  if (problems.length > 0) throw new InvalidConfig(problems);
  // Only the folder of a local model is not known to the thread.
  throw new InvalidConfig(problemsIn(text, { ...options, file: path }));
}

function problemsIn(text: string, options: Omit<ReadOptions, "text">): readonly Problem[] {
  const read = readConfig({ ...options, text });
  return read.ok ? [aboutFile(options.file, "is invalid")] : read.problems;
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
