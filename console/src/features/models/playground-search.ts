/** The search parameters of the playgrounds. */
interface PlaygroundSearch {
  /** The model that is chosen at first. */
  readonly model?: string;
}

export const readPlaygroundSearch = ({ model }: Record<string, unknown>): PlaygroundSearch =>
  typeof model === "string" && model !== "" ? { model } : {};
