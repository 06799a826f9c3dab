/** Strict multipart/form-data parser, independent of the gateway's own: both must agree byte for byte. */

import { invalid } from "./refusal.ts";

interface RawPart {
  readonly field: string;
  readonly filename?: string;
  readonly type?: string;
  readonly bytes: Uint8Array;
}

const broken = (why: string) => invalid(`Could not parse multipart form: ${why}`);

const parameter = (header: string, name: string): string | undefined =>
  new RegExp(`;\\s*${name}="((?:[^"\\\\]|\\\\.)*)"`, "i")
    .exec(header)?.[1]
    ?.replace(/\\(.)/g, "$1")
    .replace(/%22/g, '"');

function readPart(block: Buffer): RawPart {
  const gap = block.indexOf("\r\n\r\n");
  if (gap < 0) throw broken("a part has no end of headers");
  const headers = new Map<string, string>();
  for (const line of block.subarray(0, gap).toString().split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon > 0)
      headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  const disposition = headers.get("content-disposition") ?? "";
  const field = parameter(disposition, "name");
  if (!disposition.startsWith("form-data") || field === undefined)
    throw broken("a part has no name");
  const filename = parameter(disposition, "filename");
  const type = headers.get("content-type");
  return {
    field,
    ...(filename !== undefined && { filename }),
    ...(type !== undefined && { type }),
    bytes: block.subarray(gap + 4),
  };
}

export function readMultipart(bytes: Uint8Array, contentType: string): RawPart[] {
  const boundary = /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType);
  const mark = boundary?.[1] ?? boundary?.[2];
  if (!mark) throw broken("no boundary in content-type");
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const open = `--${mark}`;
  if (body.indexOf(open) !== 0) throw broken("does not begin with the boundary");
  const parts: RawPart[] = [];
  let at = open.length;
  while (body.toString("latin1", at, at + 2) === "\r\n") {
    const end = body.indexOf(`\r\n${open}`, at);
    if (end < 0) throw broken("the last boundary is missing");
    parts.push(readPart(body.subarray(at + 2, end)));
    at = end + 2 + open.length;
  }
  if (body.toString("latin1", at, at + 2) !== "--") throw broken("the last boundary is missing");
  return parts;
}
