/** `vexel.yaml` as a source of the configuration. Its entities are read-only at runtime. */

import { pollFiles } from "../../lib/poll-files.ts";
import type { ConfigSource } from "../sources/config-source.ts";
import { fileText } from "./file-text.ts";
import { aboutFile, type Problem } from "./problem.ts";
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

interface YamlSourceOptions extends ReadYamlOptions {
  /** Called if a changed file cannot be applied: the last configuration stays in force. */
  readonly reportRejected: (problems: readonly Problem[]) => void;
  readonly pollMs?: number;
  /** A changed file must stay unchanged for this long before it is read. */
  readonly settleMs?: number;
}

/** The file is invalid. */
export class InvalidConfig extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super("the configuration file is invalid");
    this.problems = problems;
  }
}

export function yamlSource(options: YamlSourceOptions): ConfigSource<YamlConfig> {
  const { path, reportRejected, pollMs, settleMs } = options;
  let hasEntries = false;
  return {
    load: async () => {
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
    },
    watch: (onChange) => {
      const apply = async (): Promise<void> => {
        try {
          await onChange();
        } catch (error) {
          // Any other error is a bug of the gateway: it must not stop a running gateway.
          const bug = () => [aboutFile(path, `could not be applied: ${error}`)];
          reportRejected(error instanceof InvalidConfig ? error.problems : bug());
        }
      };
      return pollFiles({
        paths: [path],
        onChange: apply,
        ...(pollMs !== undefined && { pollMs }),
        ...(settleMs !== undefined && { settleMs }),
      }).close;
    },
  };
}
