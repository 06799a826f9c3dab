/** The `Range` header: one stretch of bytes. Several at once, or what cannot be read, count as not asked for (RFC 9110). */

/** Both ends belong to it. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** `unsatisfiable`: it asks for nothing that is there. Undefined: all of it is to be sent. */
export function parseRange(header: string, size: number): ByteRange | "unsatisfiable" | undefined {
  const [, first = "", last = ""] = /^bytes=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(header) ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "") {
    // So many from the end.
    const bytes = Math.min(Number(last), size);
    return bytes === 0 ? "unsatisfiable" : { from: size - bytes, to: size - 1 };
  }
  const from = Number(first);
  const to = last === "" ? size - 1 : Number(last);
  if (to < from && last !== "") return undefined;
  return from >= size ? "unsatisfiable" : { from, to: Math.min(to, size - 1) };
}
