/** Reads `data:` URLs: `data:image/png;base64,…`, or percent-encoded bytes such as %89PNG. No network. */

import { isDataUrl } from "../../lib/url-scheme.ts";
import type { CollectedImage } from "../collect-image.ts";
import { checkMagicBytes } from "./detect-image.ts";
import { DownloadError, downloadErrorToGatewayError, type LinkOrigin } from "./download-error.ts";

export interface DataUrlOptions {
  readonly maxBytes: number;
  readonly origin: LinkOrigin;
  /** Whether an SVG is accepted. */
  readonly svg?: boolean;
}

type Bytes = Extract<CollectedImage, { kind: "bytes" }>;

/** The declared media type is ignored: the magic bytes decide. Throws GatewayError. */
export function readDataUrl(url: string, { maxBytes, origin, svg = false }: DataUrlOptions): Bytes {
  try {
    const bytes = decode(url, maxBytes);
    checkMagicBytes(bytes, svg);
    return { kind: "bytes", bytes };
  } catch (error) {
    throw error instanceof DownloadError
      ? downloadErrorToGatewayError(error, origin, "data URL")
      : error;
  }
}

function decode(url: string, maxBytes: number): Uint8Array {
  const comma = url.indexOf(",");
  // Media types are short; a long head is invalid.
  if (!isDataUrl(url) || comma < 0 || comma > 1024)
    throw invalidDataUrl("the data URL has no content");
  const base64 = /;\s*base64\s*$/i.test(url.slice(0, comma));
  const content = url.slice(comma + 1);
  const bytes = base64 ? fromBase64(content) : fromPercents(content);
  if (bytes.length > maxBytes) throw invalidDataUrl(`it is larger than ${maxBytes} bytes`);
  return bytes;
}

function fromBase64(content: string): Uint8Array {
  const text = (content.includes("%") ? textOf(fromPercents(content)) : content)
    .replace(/\s+/g, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/")
    .replace(/=+$/, "");
  // A single remaining base64 character encodes no byte.
  if (!/^[A-Za-z0-9+/]*$/.test(text) || text.length % 4 === 1) {
    throw invalidDataUrl("the data URL is not base64");
  }
  return Buffer.from(text, "base64");
}

function fromPercents(content: string): Uint8Array {
  const plain = Buffer.from(content);
  const bytes = Buffer.alloc(plain.length);
  let length = 0;
  for (let at = 0; at < plain.length; at++) {
    const code = plain[at] as number;
    const hex = code === 0x25 ? plain.toString("latin1", at + 1, at + 3) : "";
    const escaped = /^[0-9a-f]{2}$/i.test(hex);
    bytes[length++] = escaped ? Number.parseInt(hex, 16) : code;
    if (escaped) at += 2;
  }
  return bytes.subarray(0, length);
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");

const invalidDataUrl = (reason: string): DownloadError =>
  new DownloadError("invalid", reason, reason);
