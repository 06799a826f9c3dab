/**
 * Turns schema issues into error messages for the author of the file. No message repeats a value that may be a secret.
 */

import type { z } from "zod";
import { modelKinds } from "../../../contract/model-kinds.ts";
import { didYouMean, nearestMatch } from "../../lib/edit-distance.ts";
import { describeConstraint } from "../../lib/zod-message.ts";
import { kinds } from "../../upstream/kinds.ts";
import type { Note, Path } from "../yaml/problem.ts";
import { knownKeys } from "./schema.ts";

/** Quotes a value of the configuration in a message. */
export type Show = (text: string) => string;

const maxQuoted = 80;

/** Hides the values of environment variables, which may be secrets. Stored values quote only ids, and hide nothing. */
export const showUnless =
  (secrets: ReadonlySet<string>): Show =>
  (text) => {
    // A shorter value reveals nothing, and would match almost any text.
    for (const secret of secrets)
      if (secret.length >= 4 && text.includes(secret)) return "(a hidden value)";
    return JSON.stringify(text.length > maxQuoted ? `${text.slice(0, maxQuoted - 1)}…` : text);
  };

export function explainIssue(issue: z.core.$ZodIssue, raw: unknown, show: Show): Note[] {
  const path = issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => ({
      path: [...path, key],
      on: "key",
      message: () => unknownKey(key, path, raw),
    }));
  const value = valueAt(raw, path);
  const [list] = path;
  // The entries of these lists are discriminated by `kind`. Which other keys an entry may have depends on it.
  if (issue.code === "invalid_union" && (list === "upstreams" || list === "models")) {
    return [{ path, message: () => wrongKind(value, list, show) }];
  }
  if (issue.code === "invalid_key")
    return [{ path, on: "key", message: issue.issues[0]?.message ?? issue.message }];
  return [{ path, message: describeIssue(issue, value) }];
}

function unknownKey(key: string, path: Path, raw: unknown): string {
  // The allowed keys of an entry depend on its kind.
  const kind = valueAt(raw, [...path.slice(0, 2), "kind"]);
  const known = knownKeys(path, typeof kind === "string" ? kind : undefined);
  if (path[0] === "models" && path.length === 2) {
    const other = kind === "image" ? "embedding" : "image";
    if (knownKeys(path, other).includes(key)) return `only a model of kind ${other} can have this`;
  }
  const misplaced = misplacedLimitKey(key, path);
  if (misplaced !== undefined) return misplaced;
  const meant = nearestMatch(key, known);
  return meant === undefined
    ? `unknown key; known here: ${known.join(", ")}`
    : `unknown key (did you mean \`${meant}\`?)`;
}

/** Limits and budgets of end users and tags, where they cannot be. */
function misplacedLimitKey(key: string, path: Path): string | undefined {
  if (path[0] === "keys" && (key === "perEndUser" || key === "perTag"))
    return "only a project can have this: put the API key into a project";
  const isEndUserOrTag =
    path[0] === "projects" && (path[2] === "perEndUser" || path[2] === "perTag");
  return isEndUserOrTag && path.at(-1) === "budget" && key === "total"
    ? "end users and tags have budgets per `day` and `month`, not in total"
    : undefined;
}

/** The lists whose entries have a `kind`. */
type EntryList = "upstreams" | "models";

const kindsOf = (list: EntryList): readonly string[] =>
  list === "upstreams" ? [...kinds.keys()] : modelKinds;

function wrongKind(value: unknown, list: EntryList, show: Show): string {
  const known = kindsOf(list);
  if (value === undefined) return `is missing; known: ${known.join(", ")}`;
  if (typeof value !== "string") return `must be one of ${known.join(", ")}`;
  const what = list === "upstreams" ? "kind of upstream" : "kind of model";
  return `${show(value)} is no ${what}${didYouMean(value, known, show)}; known: ${known.join(", ")}`;
}

function describeIssue(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.code !== "invalid_type") return describeConstraint(issue);
  if (value === undefined) return "is missing";
  if (issue.expected === "int" && typeof value === "number") return "must be a whole number";
  return `must be ${typeNames[issue.expected] ?? issue.expected}, not ${typeName(value)}${
    issue.expected === "string" && typeof value !== "object" ? ": put it in quotes" : ""
  }`;
}

const typeNames: Readonly<Record<string, string>> = {
  array: "a list",
  boolean: "true or false",
  int: "a whole number",
  number: "a number",
  object: "a map",
  record: "a map",
  string: "text",
};

function typeName(value: unknown): string {
  if (value === null) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a map";
  return typeof value === "string" ? "text" : `a ${typeof value}`;
}

export function valueAt(raw: unknown, path: Path): unknown {
  let here = raw;
  for (const step of path) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, step)) return undefined;
    here = (here as Record<string | number, unknown>)[step];
  }
  return here;
}
