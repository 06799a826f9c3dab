/** The input images of an edit in the forms that vendors take: files, or strings in their JSON. */
import { GatewayError } from "../../../lib/gateway-error.ts";
import { base64Length, encodeBase64Stream, StreamedString } from "../../../lib/json-stream.ts";
import type { FilePart, ImageSource } from "../../contract.ts";

/**
 * Placeholder of a file in a JSON body: its base64, written as a stream, so that a file goes from disk to the socket.
 */
export class FileContent extends StreamedString {
  constructor(file: FilePart, prefix = "") {
    super(base64Length(file.size), () => encodeBase64Stream(file.stream()), { prefix });
  }
}

export const dataUrlOf = (file: FilePart): FileContent =>
  new FileContent(file, `data:${file.type};base64,`);

/** Only for targets whose capabilities require the bytes. */
export function fileOf(source: ImageSource): FilePart {
  if (source.kind === "file") return source.file;
  throw new GatewayError("internal", "A reference was sent to a target that reads files only.");
}

export const filesOf = (sources: readonly ImageSource[]): readonly FilePart[] =>
  sources.map(fileOf);

/** The only image of an edit, for targets that take one. */
export function onlyFile(sources: readonly ImageSource[]): FilePart {
  const [file] = filesOf(sources);
  if (file) return file;
  throw new GatewayError("internal", "An edit request has no image.");
}

/** Base64 without a prefix. */
export const asBase64 = (source: ImageSource): FileContent => new FileContent(fileOf(source));

/** A data URL, or the client's link. */
export const asDataUrl = (source: ImageSource): FileContent | string =>
  source.kind === "url" ? source.url : dataUrlOf(fileOf(source));
