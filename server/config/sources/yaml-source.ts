/** `vexel.yaml` as a source of the configuration. */

import { fileText } from "../file-text.ts";
import { type FilePresence, pollFiles } from "../poll-files.ts";
import { aboutFile } from "../problem.ts";
import { type ReadConfig, type ReadOptions, readConfig } from "../read-yaml.ts";

interface YamlSourceOptions extends Omit<ReadOptions, "text" | "file"> {
  readonly path: string;
  /** The setting or option that names the file: it must exist. Absent: the path is the default. */
  readonly namedBy?: string | undefined;
}

/** An absent file at the default path counts as an empty one. */
export function readYaml({ path, namedBy, ...options }: YamlSourceOptions): ReadConfig {
  const { text, error } = fileText(path);
  if (error !== undefined) return { ok: false, problems: [aboutFile(path, error, namedBy)] };
  if (text === undefined && namedBy !== undefined) {
    const message = "does not exist. Create it or correct the path.";
    return { ok: false, problems: [aboutFile(path, message, namedBy)] };
  }
  return readConfig({ ...options, text: text ?? "", file: path });
}

interface WatchFileOptions {
  readonly path: string;
  /** Called after each change, one call at a time. */
  onChange(state: FilePresence): Promise<void>;
  readonly pollMs?: number;
  /** A changed file must stay unchanged for this long before it is read. */
  readonly settleMs?: number;
}

/** Watches one file of the configuration. Returns the function that ends the watch. */
export function watchFile({ path, onChange, ...timing }: WatchFileOptions): () => void {
  const { close } = pollFiles({
    paths: [path],
    onChange: async ([now]) => {
      if (now) await onChange(now.state);
    },
    ...timing,
  });
  return close;
}
