/** Random upstream responses: well-formed, and split anywhere. */
import fc from "fast-check";
import { ResponseParser } from "../../server/upstream/transport/parse-response.ts";

export const plenty = 1_000_000;
export const latin = (text: string): Buffer => Buffer.from(text, "latin1");

/** The same bytes in chunks, split at these offsets. */
export function splitAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const offsets = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...offsets].map((from, at) => bytes.subarray(from, offsets[at] ?? bytes.length));
}

export function read(text: string | Buffer, max = plenty): ResponseParser {
  const response = new ResponseParser(max);
  response.push(typeof text === "string" ? latin(text) : text);
  return response;
}

export const cuts = fc.oneof(
  fc.array(fc.nat(), { maxLength: 8 }),
  // Byte by byte.
  fc.constant(Array.from({ length: 2000 }, (_, at) => at)),
);
const anyCase = (name: string): fc.Arbitrary<string> =>
  fc
    .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
    .map((large) => [...name].map((c, at) => (large[at] ? c.toUpperCase() : c)).join(""));
const space = fc.constantFrom("", " ", "  ", "\t", " \t ");
const header = (name: string, value: string): fc.Arbitrary<string> =>
  fc.tuple(anyCase(name), space, space).map(([n, a, b]) => `${n}:${a}${value}${b}\r\n`);
const word = fc.stringMatching(/^[a-z0-9;=/"]{1,12}$/);
const otherHeaders = fc
  .array(fc.tuple(fc.constantFrom("x-a", "x-b", "set-cookie", "date", "x-content-length"), word), {
    maxLength: 4,
  })
  .chain((list) =>
    fc.record({ list: fc.constant(list), lines: fc.tuple(...list.map((one) => header(...one))) }),
  );
const interim = fc.constantFrom(
  "",
  "HTTP/1.1 100 Continue\r\n\r\n",
  "HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\ncontent-length: 7\r\n\r\n",
  "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n",
);
const body = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  // Bodies that look like the end of a head, a chunk or a response.
  fc.constantFrom("\r\n\r\n", "0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "\r", "\r\n5\r\n").map(latin),
);

/** The header lines that frame a body, and the bytes of the framed body. */
interface Framed {
  readonly lines: string;
  readonly bytes: Buffer;
  readonly untilClose?: true;
}

const sized = (whole: Buffer): fc.Arbitrary<Framed> =>
  header("content-length", String(whole.length)).map((lines) => ({ lines, bytes: whole }));

const chunked = (whole: Buffer): fc.Arbitrary<Framed> =>
  fc
    .record({
      lines: header("transfer-encoding", "chunked"),
      places: fc.array(fc.nat(), { maxLength: 6 }),
      extension: fc.constantFrom("", ";a", "; name=value", ';q="x y"', " "),
      zeros: fc.constantFrom("", "0", "000"),
      large: fc.boolean(),
      trailers: fc.constantFrom("", "x-t: 1\r\n", "x-t: 1\r\nexpires: never\r\n"),
    })
    .map(({ lines, places: offsets, extension, zeros, large, trailers }) => {
      const frames = splitAt(whole, offsets)
        .filter(({ length }) => length > 0)
        .flatMap((chunk) => {
          const size = chunk.length.toString(16);
          const written = zeros + (large ? size.toUpperCase() : size);
          return [latin(`${written}${extension}\r\n`), chunk, latin("\r\n")];
        });
      return {
        lines,
        bytes: Buffer.concat([...frames, latin(`0${extension}\r\n${trailers}\r\n`)]),
      };
    });

const untilClose = (whole: Buffer): fc.Arbitrary<Framed> =>
  fc.constant({ lines: "", bytes: whole, untilClose: true });

export const wellFormed = body
  .chain((whole) =>
    fc.record({
      whole: fc.constant(whole),
      framed: fc.oneof(sized(whole), chunked(whole), untilClose(whole)),
      interim,
      version: fc.constantFrom("1.1", "1.1", "1.0"),
      status: fc.constantFrom(200, 201, 301, 400, 404, 429, 500, 503, 599),
      reason: fc.constantFrom(" OK", " Not so  good", " ", ""),
      connection: fc.constantFrom(undefined, "close", "keep-alive", "Keep-Alive, TE"),
      others: otherHeaders,
    }),
  )
  .map(({ whole, framed, version, status, reason, connection, others, interim: before }) => {
    const connectionLine = connection === undefined ? "" : `Connection: ${connection}\r\n`;
    const first = `HTTP/${version} ${status}${reason}\r\n`;
    const head = `${first}${connectionLine}${others.lines.join("")}${framed.lines}\r\n`;
    const mayStay = version === "1.1" ? connection !== "close" : connection === "keep-alive";
    return {
      wire: Buffer.concat([latin(before + head), framed.bytes]),
      whole,
      status,
      headers: others.list,
      headEnd: before.length + head.length,
      untilClose: framed.untilClose === true,
      reusable: mayStay && !framed.untilClose,
    };
  });
