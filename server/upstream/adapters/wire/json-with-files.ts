/** A JSON body with files as base64, written as a stream, so that a file goes from disk to the socket. */
import { base64Length, StreamedText, toBase64 } from "../../../lib/json-stream.ts";
import type { FilePart } from "../../contract.ts";

export { writeJson as jsonBody } from "../../../lib/json-stream.ts";

/** Stands in a body for the content of a file. */
export class FileContent extends StreamedText {
  constructor(file: FilePart, prefix = "") {
    super(base64Length(file.size), () => toBase64(file.stream()), { prefix });
  }
}

export const dataUrlOf = (file: FilePart): FileContent =>
  new FileContent(file, `data:${file.type};base64,`);
