/** Decodes an image that a client sent as a data URL (`data:`) into a file. */
import { GatewayError } from "../lib/gateway-error.ts";
import { sniffImage } from "../lib/sniff-image.ts";
import { nextTurn } from "../lib/tasks.ts";
import type { RequestTemp } from "../temp-storage/request-temp.ts";
import { collectImage } from "../upstream/collect-image.ts";
import type { FilePart } from "../upstream/contract.ts";
import { toFilePart } from "../workers/image/file-part.ts";

/** Decoded chunk by chunk, so that a large image is spilled to disk without a second copy in memory. */
const chunkCharacters = 64 * 1024;
/** Chunks that are decoded before other requests are served. */
const chunksPerTurn = 8;

/** `field`: the client's name of the parameter. The media type in the URL is never trusted. */
export async function decodeDataUrl(
  url: string,
  field: string,
  temp: RequestTemp,
): Promise<FilePart> {
  const comma = url.indexOf(",");
  const head = url.slice(0, Math.max(0, comma)).toLowerCase();
  if (!head.split(";").includes("base64")) {
    throw new GatewayError(
      "invalid_value",
      `Invalid '${field}': a data: URL must look like 'data:image/png;base64,...'.`,
      { param: field },
    );
  }
  const image = await collectImage(decodeChunks(normalizeBase64(url.slice(comma + 1))), temp);
  const start = image.kind === "bytes" ? image.bytes : image.spilled.start;
  const type = sniffImage(start) ?? "application/octet-stream";
  return toFilePart(image, { field, filename: "" }, type);
}

/** Some clients break base64 into lines, or percent-encode its characters. */
function normalizeBase64(text: string): string {
  const unescaped = text.includes("%")
    ? text.replace(/%2b/gi, "+").replace(/%2f/gi, "/").replace(/%3d/gi, "=")
    : text;
  return /\s/.test(unescaped) ? unescaped.replace(/\s+/g, "") : unescaped;
}

async function* decodeChunks(base64: string): AsyncGenerator<Uint8Array> {
  for (let at = 0, chunks = 1; at < base64.length; at += chunkCharacters, chunks++) {
    yield Buffer.from(base64.slice(at, at + chunkCharacters), "base64");
    if (chunks % chunksPerTurn === 0) await nextTurn();
  }
}
