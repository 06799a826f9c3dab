/** The search parameters of the playgrounds. */
export interface PlaygroundSearch {
  /** The model that is chosen at first. */
  readonly model?: string;
}

export const readPlaygroundSearch = ({ model }: Record<string, unknown>): PlaygroundSearch =>
  typeof model === "string" && model !== "" ? { model } : {};
