/** Writes a multipart form as a stream: files go from disk to the socket and are not held in memory. */
import { extensionOf } from "../../../lib/sniff-image.ts";
import type { StreamedBody } from "../../adapter.ts";
import type { ExtraFields, FilePart } from "../../contract.ts";

export type Part =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly file: FilePart };

/** Fields of any kind as text. Absent stays absent; a list is its entries, one after the other. */
export const fieldParts = (fields: ExtraFields): readonly Part[] =>
  Object.entries(fields).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).flatMap((entry: unknown): Part[] =>
      entry === undefined || entry === null ? [] : [{ name, text: textOf(entry) }],
    ),
  );

/** Everything in a form is text; what is not travels as JSON. */
const textOf = (value: unknown): string =>
  typeof value === "object" ? JSON.stringify(value) : String(value);

export function writeForm(parts: readonly Part[]): { contentType: string; body: StreamedBody } {
  const boundary = `vexel-${crypto.randomUUID()}`;
  const encoder = new TextEncoder();
  const pieces = parts.map((part) => ({ head: encoder.encode(headOf(part, boundary)), part }));
  const end = encoder.encode(`--${boundary}--\r\n`);
  const newline = encoder.encode("\r\n");
  const length = pieces.reduce(
    (sum, { head, part }) => sum + head.length + ("file" in part ? part.file.size : 0) + 2,
    end.length,
  );
  async function* write(): AsyncGenerator<Uint8Array> {
    for (const { head, part } of pieces) {
      yield head;
      if ("file" in part) yield* part.file.stream();
      yield newline;
    }
    yield end;
  }
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: { length, open: write },
  };
}

function headOf(part: Part, boundary: string): string {
  const name = quoted(part.name);
  if (!("file" in part)) {
    return `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${part.text}`;
  }
  // Some upstreams go by the file's ending, so it must agree with the type.
  const stem = part.file.filename.replace(/\.[^.]*$/, "") || "image";
  const filename = quoted(`${stem}.${extensionOf(part.file.type)}`);
  return `--${boundary}\r\ncontent-disposition: form-data; name="${name}"; filename="${filename}"\r\ncontent-type: ${part.file.type}\r\n\r\n`;
}

/** As browsers do it: a quote or a line break may not end the header early, nor may a backslash hide its quote. */
const quoted = (text: string): string =>
  text
    .replaceAll("\\", "\\\\")
    .replaceAll('"', "%22")
    .replaceAll("\r", "%0D")
    .replaceAll("\n", "%0A");
