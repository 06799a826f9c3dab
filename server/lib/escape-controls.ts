/**
 * Escapes text from outside before a terminal shows it: control characters could move the cursor, recolor the terminal
 * or forge a line. JSON escapes only some of them: terminals also act on C1 controls and on bidirectional marks.
 */

/** All but line feed and tab. */
const controls = /[[\p{Cc}--[\n\t]]\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gv;

/** As in JSON, so that JSON stays valid. */
const codeOf = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Keeps line feeds and tabs. */
export const escapeControls = (text: string): string => text.replaceAll(controls, codeOf);
