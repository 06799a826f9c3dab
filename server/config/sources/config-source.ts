/** A source of the configuration: the file, the environment or the store. */

export interface ConfigSource<T> {
  readonly name: "yaml" | "environment" | "store";
  load(): Promise<T>;
  /**
   * Calls `onChange` after each change, one call at a time. Returns the function that ends the watch. A source that
   * never changes while the process runs never calls it.
   */
  watch(onChange: (state: SourceState) => Promise<void>): () => void;
}

/** An empty or absent file may be a write in progress, so it does not replace a configuration that works. */
export type SourceState = "present" | "empty" | "absent";
