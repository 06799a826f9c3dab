/** A JSON body with the mask in the form that Workers AI takes: an array of the bytes of its file. */

import type { BorrowedBytes } from "../../../lib/borrowed-bytes.ts";
import { stringifyStreamed } from "../../../lib/json-stream.ts";
import type { StreamedRequestBody } from "../../adapter.ts";
import type { ExtraFields, FilePart } from "../../contract.ts";

/**
 * Each number is padded to a fixed width with spaces, which JSON allows before a number: so the length of the body is
 * known before the file is read. `fields` has at least one member.
 */
export function withMask(fields: ExtraFields, mask: FilePart): StreamedRequestBody {
  const others = streamed(stringifyStreamed(fields));
  const head = Buffer.from('{"mask":[');
  const tail = Buffer.from("],");
  async function* open(): AsyncGenerator<BorrowedBytes> {
    yield head;
    let before = "";
    for await (const chunk of mask.stream()) {
      if (chunk.length === 0) continue;
      yield Buffer.from(before + Array.from(chunk, (byte) => String(byte).padStart(3)).join(","));
      before = ",";
    }
    yield tail;
    // The opening brace of the fields is written already.
    let from = 1;
    for await (const chunk of others.open()) {
      yield chunk.subarray(from);
      from = 0;
    }
  }
  const numbers = Math.max(0, 4 * mask.size - 1);
  return { length: head.length + numbers + tail.length + others.length - 1, open };
}

function streamed(body: string | StreamedRequestBody): StreamedRequestBody {
  if (typeof body !== "string") return body;
  const bytes = Buffer.from(body);
  return {
    length: bytes.length,
    open: async function* () {
      yield bytes;
    },
  };
}
