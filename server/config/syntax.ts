/** Syntax problems of the file: broken YAML, unresolved or too many aliases, duplicate keys. */
import { type Document, type ErrorCode, isScalar, visit } from "yaml";
import type { LinePosition } from "./lines.ts";
import type { Note } from "./problem.ts";
import { pathOf } from "./yaml-location.ts";

export const maxAliases = 100;

/** One per line: after the first error the parser reports many that are only its consequences. */
export function brokenSyntax(
  document: Document.Parsed,
  positionOf: (offset: number) => LinePosition,
): Note[] {
  const byLine = new Map<number, Note>();
  for (const { code, pos } of [...document.errors, ...document.warnings]) {
    const { line } = positionOf(pos[0]);
    if (!byLine.has(line))
      byLine.set(line, {
        path: [],
        offset: pos[0],
        message: messages[code] ?? "is not valid YAML",
      });
  }
  return [...byLine.values()];
}

// Not the library's own messages: some quote the file, which may contain secrets.
const messages: Partial<Record<ErrorCode, string>> = {
  BAD_DQ_ESCAPE: "an unknown escape in double-quoted text",
  BAD_INDENT: "wrong indentation, or a bracket that is not closed",
  BAD_SCALAR_START: "text cannot start with this character: put it in quotes",
  BLOCK_AS_IMPLICIT_KEY: "an extra colon, or a missing line break",
  KEY_OVER_1024_CHARS: "the key is too long",
  MISSING_CHAR: "a quote, comma, colon or bracket is missing",
  MULTILINE_IMPLICIT_KEY: "a key must fit on one line: is a colon missing?",
  MULTIPLE_DOCS: "only one document is read: remove the second ---",
  NON_STRING_KEY: "a key must be plain text",
  RESOURCE_EXHAUSTION: "is nested too deeply",
  TAB_AS_INDENT: "a tab is used for indentation: use spaces",
  TAG_RESOLVE_FAILED: "an unknown !tag",
  UNEXPECTED_TOKEN: "unexpected text here: is a quote, comma or line break missing?",
};

export function badAliases(document: Document.Parsed): Note[] {
  const notes: Note[] = [];
  let count = 0;
  visit(document, {
    Alias(_, node) {
      const offset = node.range?.[0] ?? 0;
      count += 1;
      // The count is checked first, because resolving an alias reads the whole file.
      if (count > maxAliases) {
        notes.push({ path: [], offset, message: `more than ${maxAliases} aliases` });
        return visit.BREAK;
      }
      if (!node.resolve(document))
        notes.push({
          path: [],
          offset,
          message: "an alias without an anchor of this name before it",
        });
    },
  });
  return notes;
}

/** Linear in the size of the file; the library's own check is quadratic. */
export function duplicateKeys(document: Document.Parsed): Note[] {
  const notes: Note[] = [];
  visit(document, {
    Map(_, node, ancestors) {
      const seen = new Set<unknown>();
      for (const { key } of node.items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value))
          notes.push({
            path: [...pathOf(ancestors, node), String(key.value)],
            offset: key.range?.[0] ?? 0,
            message: "duplicate key",
          });
        seen.add(key.value);
      }
    },
  });
  return notes;
}
