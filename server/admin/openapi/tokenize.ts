/** Splits the declarations of contract/admin into tokens. It knows only the small part of TypeScript that they use. */
export interface Token {
  readonly kind: "word" | "string" | "punctuation" | "comment" | "end";
  readonly text: string;
}

const tokenPattern =
  /\s+|\/\*\*(?<comment>[\s\S]*?)\*\/|\/\/[^\n]*|"(?<string>[^"\n]*)"|(?<word>[\w$]+)|(?<punctuation>[^\s\w$"])/gy;

/** Only doc comments become tokens; other comments are skipped. The last token has the kind `end`. */
export function tokenize(text: string): readonly Token[] {
  const tokens: Token[] = [];
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < text.length) {
    const at = tokenPattern.lastIndex;
    const groups = tokenPattern.exec(text)?.groups;
    if (!groups) throw new Error(`Unknown token at: ${text.slice(at, at + 40)}`);
    for (const kind of ["comment", "string", "word", "punctuation"] as const) {
      const value = groups[kind];
      if (value !== undefined) tokens.push({ kind, text: value });
    }
  }
  return [...tokens, { kind: "end", text: "" }];
}
