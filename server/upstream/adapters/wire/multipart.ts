/** Writes a multipart form as a stream: files go from disk to the socket and are not held in memory. */
import { extensionOf } from "../../../lib/sniff-image.ts";
import type { StreamedBody } from "../../adapter.ts";
import type { ExtraFields, FilePart } from "../../contract.ts";

export type Part =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly file: FilePart };

/** Form fields as text. Absent fields are left out; a list becomes one field for each entry. */
export const fieldParts = (fields: ExtraFields): readonly Part[] =>
  Object.entries(fields).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).flatMap((entry: unknown): Part[] =>
      entry === undefined || entry === null ? [] : [{ name, text: textOf(entry) }],
    ),
  );

/** Form fields are text; other values are written as JSON. */
const textOf = (value: unknown): string =>
  typeof value === "object" ? JSON.stringify(value) : String(value);

export function writeForm(parts: readonly Part[]): { contentType: string; body: StreamedBody } {
  const boundary = `vexel-${crypto.randomUUID()}`;
  const encoder = new TextEncoder();
  const encodedParts = parts.map((part) => ({
    head: encoder.encode(headOf(part, boundary)),
    part,
  }));
  const end = encoder.encode(`--${boundary}--\r\n`);
  const newline = encoder.encode("\r\n");
  const length = encodedParts.reduce(
    (sum, { head, part }) => sum + head.length + ("file" in part ? part.file.size : 0) + 2,
    end.length,
  );
  async function* write(): AsyncGenerator<Uint8Array> {
    for (const { head, part } of encodedParts) {
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
  // Some upstreams rely on the file extension, so it must match the type.
  const stem = part.file.filename.replace(/\.[^.]*$/, "") || "image";
  const filename = quoted(`${stem}.${extensionOf(part.file.type)}`);
  return `--${boundary}\r\ncontent-disposition: form-data; name="${name}"; filename="${filename}"\r\ncontent-type: ${part.file.type}\r\n\r\n`;
}

/** Escapes as browsers do: no quote or line break may end the header early, no backslash may escape its quote. */
const quoted = (text: string): string =>
  text
    .replaceAll("\\", "\\\\")
    .replaceAll('"', "%22")
    .replaceAll("\r", "%0D")
    .replaceAll("\n", "%0A");
