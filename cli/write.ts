/**
 * Writes the output of commands. Names and messages come from other programs, such as a gateway that is imported or an
 * upstream, and must not control the terminal.
 */
import { escapeControls } from "../server/lib/escape-controls.ts";

/** A name or a message on one line. */
export const onOneLine = (text: string): string =>
  escapeControls(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");

export const writeOutput = (text: string): void => {
  process.stdout.write(escapeControls(text));
};

export const writeError = (text: string): void => {
  process.stderr.write(escapeControls(text));
};
