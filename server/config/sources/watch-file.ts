/** Watches one file of the configuration. */
import { pollFiles } from "../poll-files.ts";
import type { SourceState } from "./config-source.ts";

export interface WatchFileOptions {
  readonly path: string;
  onChange(state: SourceState): Promise<void>;
  readonly pollMs?: number;
  /** A changed file must stay unchanged for this long before it is read. */
  readonly settleMs?: number;
}

/** Returns the function that ends the watch. */
export function watchFile({ path, onChange, ...pace }: WatchFileOptions): () => void {
  const { close } = pollFiles({
    paths: [path],
    onChange: async ([now]) => {
      if (now) await onChange(now.state);
    },
    ...pace,
  });
  return close;
}
