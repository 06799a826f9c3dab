/** A picture of a call as it is sent to the darkroom's process: where it lies if it is large, else the bytes. */
import type { Scratch } from "../../lib/request-temp.ts";
import type { FilePart, ImageContent } from "../../upstream/contract.ts";
import { unwritable } from "./image-errors.ts";
import type { Sent } from "./protocol.ts";

/** An upload, or a picture of an upstream's answer that is here already. */
export type Source = FilePart | Exclude<ImageContent, { kind: "url" }>;

/** Up to so many bytes go with the question. */
const shortBytes = 128 * 1024;

export const isFile = (source: Source): source is FilePart => !("kind" in source);

/** In bytes, decoded. */
export function sizeOf(source: Source): number {
  if (isFile(source)) return source.size;
  if (source.kind === "bytes") return source.bytes.length;
  if (source.kind === "base64") return decodedLength(source.base64.length);
  const { encoding, length } = source.aside;
  return encoding === "raw" ? length : decodedLength(length);
}

const decodedLength = (characters: number): number => Math.floor((characters * 3) / 4);

export interface SendOptions {
  /** The process can open files of this one. */
  readonly byPath: boolean;
  /** Where large pictures are put that lie in memory. Absent: they are sent as they are. */
  readonly scratch: Scratch | undefined;
}

/** An image that the process may read until `giveBack` is called. */
export interface LentImage {
  readonly sent: Sent;
  giveBack(): void;
}

/** A file stays open for the process, also when the request ends meanwhile: its descriptor is not reused for another file. */
export async function toSent(source: Source, { byPath, scratch }: SendOptions): Promise<LentImage> {
  const lent = byPath ? lendFile(source) : undefined;
  if (lent) return lent;
  const bytes = await bytesOf(source);
  if (byPath && scratch && bytes.length > shortBytes) {
    const put = await putAside(bytes, scratch);
    if (put) return put;
  }
  // Copied: a view would carry all of the buffer it looks into.
  return { sent: { kind: "bytes", bytes: new Uint8Array(bytes) }, giveBack: nothing };
}

const nothing = (): void => undefined;

function lendFile(source: Source): LentImage | undefined {
  const giveBack = isFile(source)
    ? source.lend?.()
    : source.kind === "aside"
      ? source.aside.lend?.()
      : undefined;
  if (!giveBack) return undefined;
  const sent = whereItLies(source);
  if (sent) return { sent, giveBack };
  giveBack();
  return undefined;
}

function whereItLies(source: Source): Sent | undefined {
  if (isFile(source)) {
    const { path, size } = source;
    if (path === undefined) return undefined;
    return { kind: "place", place: { path, from: 0, length: size }, encoding: "raw" };
  }
  if (source.kind !== "aside") return undefined;
  const { path, place, length, encoding } = source.aside;
  if (place) return { kind: "place", place, encoding };
  return path === undefined
    ? undefined
    : { kind: "place", place: { path, from: 0, length }, encoding };
}

async function bytesOf(source: Source): Promise<Uint8Array> {
  if (isFile(source)) return source.bytes();
  if (source.kind === "bytes") return source.bytes;
  if (source.kind === "base64") return Buffer.from(source.base64, "base64");
  const bytes = await source.aside.bytes();
  if (source.aside.encoding === "raw") return bytes;
  return Buffer.from(Buffer.from(bytes).toString("latin1"), "base64");
}

async function putAside(bytes: Uint8Array, scratch: Scratch): Promise<LentImage | undefined> {
  try {
    const file = await scratch.file();
    const { path } = file;
    if (path === undefined) return undefined;
    file.append(bytes);
    const place = { path, from: 0, length: bytes.length };
    return { sent: { kind: "place", place, encoding: "raw" }, giveBack: file.lend() };
  } catch (cause) {
    throw unwritable(cause);
  }
}
