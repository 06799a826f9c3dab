/** Decodes the text fields of a form: from UTF-8, unless the form names another charset (RFC 7578, 4.6). */

import { GatewayError } from "../lib/gateway-error.ts";
import type { FormField } from "../request/http-types.ts";

/** A text field as it was sent. */
export interface TextPart {
  readonly name: string;
  /** Of its content-type. */
  readonly charset: string | undefined;
  readonly bytes: Buffer;
}

/** A field of this name holds the charset of all parts that name none (RFC 7578, section 4.6). */
const charsetField = "_charset_";

export function decodeFields(parts: readonly TextPart[]): FormField[] {
  const fallback = parts
    .find(({ name }) => name === charsetField)
    ?.bytes.toString("latin1")
    .trim();
  return parts
    .filter(({ name }) => name !== charsetField)
    .map(({ name, charset, bytes }) => ({ name, value: decode(name, bytes, charset || fallback) }));
}

function decode(name: string, bytes: Buffer, charset = "utf-8"): string {
  const decoder = decoderOf(name, charset);
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new GatewayError(
      "invalid_form",
      `The form field '${name}' is not valid ${charset.slice(0, 40)}. Send it in UTF-8, or name its charset in the content-type of the part, such as 'text/plain; charset=iso-8859-1'.`,
      { param: name, cause },
    );
  }
}

function decoderOf(name: string, charset: string): TextDecoder {
  // ASCII is a subset of UTF-8. The standard decoder would read it as windows-1252.
  const label = /^(us-)?ascii$/i.test(charset) ? "utf-8" : charset;
  try {
    // A byte order mark at the beginning is not part of the text, and is removed.
    return new TextDecoder(label as Bun.Encoding, { fatal: true });
  } catch (cause) {
    throw new GatewayError(
      "invalid_form",
      `The form field '${name}' has the charset '${charset.slice(0, 40)}', which is not supported. Send it in UTF-8.`,
      { param: name, cause },
    );
  }
}
