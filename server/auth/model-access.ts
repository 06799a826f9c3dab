/** Model access of API keys: whether a list of model ids and globs allows a model. */
import type { Model } from "../config/snapshot.ts";
import { matchesGlob } from "../lib/glob.ts";

export const allowsModel = (list: readonly string[], { id }: Pick<Model, "id">): boolean =>
  list.includes(id) || list.some((pattern) => matchesGlob(pattern, id));
