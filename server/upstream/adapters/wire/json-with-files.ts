/** A JSON body with files as base64, written as a stream, so that a file goes from disk to the socket. */
import { base64Length, encodeBase64Stream, StreamedString } from "../../../lib/json-stream.ts";
import type { FilePart } from "../../contract.ts";

export { stringifyStreamed as jsonBody } from "../../../lib/json-stream.ts";

/** Placeholder of a file's content in a body. */
export class FileContent extends StreamedString {
  constructor(file: FilePart, prefix = "") {
    super(base64Length(file.size), () => encodeBase64Stream(file.stream()), { prefix });
  }
}

export const dataUrlOf = (file: FilePart): FileContent =>
  new FileContent(file, `data:${file.type};base64,`);
