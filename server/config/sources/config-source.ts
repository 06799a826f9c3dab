/**
 * A source of the configuration: the file, the store or the environment. Stored API keys are none: there may be
 * 100,000, so only changed keys are read, and applied to the current snapshot (`read-stored-keys.ts`).
 */

export interface ConfigSource<Content> {
  /** Reads the whole source. Rejects if it is invalid or cannot be read: then its last content stays in force. */
  load(): Promise<Content>;
  /**
   * Calls `onChange` after each change, one call at a time. The source reports a rejection, and calls again after the
   * next change. Returns the function that ends the watch.
   */
  watch(onChange: () => Promise<void>): () => void;
}

/** Sources by name, in the order of precedence. */
export type ConfigSources<Contents> = {
  readonly [Name in keyof Contents]: ConfigSource<Contents[Name]>;
};
