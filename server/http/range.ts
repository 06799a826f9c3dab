/**
 * Range request: parses the `Range` header, one range of bytes. Several ranges and invalid values are ignored, as
 * RFC 9110 allows.
 */

/** Both ends are inclusive. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** `unsatisfiable`: it starts beyond the end. Undefined: the whole content is sent. */
export function parseRange(header: string, size: number): ByteRange | "unsatisfiable" | undefined {
  const [, first = "", last = ""] = /^bytes=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(header) ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "") {
    // A suffix: the last bytes.
    const bytes = Math.min(Number(last), size);
    return bytes === 0 ? "unsatisfiable" : { from: size - bytes, to: size - 1 };
  }
  const from = Number(first);
  const to = last === "" ? size - 1 : Number(last);
  if (to < from && last !== "") return undefined;
  return from >= size ? "unsatisfiable" : { from, to: Math.min(to, size - 1) };
}
