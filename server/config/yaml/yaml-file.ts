/** `vexel.yaml` as a file: read, and loaded again after each change. */
import { fileText } from "./file-text.ts";
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
