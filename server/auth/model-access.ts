/**
 * Model access of API keys: whether a list of model ids and globs allows a model. Ids are looked up; globs are compared
 * once for each model, because a list may have many.
 */
import type { Model } from "../config/snapshot.ts";
import { matchesGlob } from "../lib/glob.ts";

interface CompiledList {
  readonly ids: ReadonlySet<string>;
  readonly patterns: readonly string[];
  /** The results of the patterns. */
  readonly matches: WeakMap<Model, boolean>;
}

/** Most keys share a few lists. */
const compiledLists = new WeakMap<readonly string[], CompiledList>();

function compile(list: readonly string[]): CompiledList {
  const isPattern = (entry: string): boolean => /[*?]/.test(entry);
  return {
    ids: new Set(list.filter((entry) => !isPattern(entry))),
    patterns: list.filter(isPattern),
    matches: new WeakMap(),
  };
}

export function allowsModel(list: readonly string[], model: Model): boolean {
  let compiled = compiledLists.get(list);
  if (!compiled) {
    compiled = compile(list);
    compiledLists.set(list, compiled);
  }
  const { ids, patterns, matches } = compiled;
  if (patterns[0] === "*" || ids.has(model.id)) return true;
  if (patterns.length === 0) return false;
  let isMatch = matches.get(model);
  if (isMatch === undefined) {
    isMatch = patterns.some((pattern) => matchesGlob(pattern, model.id));
    matches.set(model, isMatch);
  }
  return isMatch;
}
