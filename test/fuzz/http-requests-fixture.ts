/** Random requests, valid in every form, split anywhere or mutated; and another parser to compare ours with. */
import { createRequire } from "node:module";
import { connect } from "node:net";
import fc from "fast-check";

export const latin = (text: string): Buffer => Buffer.from(text, "latin1");

export interface Sent {
  readonly method: string;
  readonly target: string;
  readonly body: Buffer;
  readonly wire: Buffer;
}

/** A number of bytes that repeat this pattern. */
const filled = (size: number): Buffer => Buffer.alloc(size, "0\r\n\r\nGET / HTTP/1.1\r\n\xe9\0");
export const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((some) => Buffer.from(some)),
  fc.constantFrom(0, 1, 2, 4_096, 65_536, 65_537).map(filled),
  { weight: 1, arbitrary: fc.nat(700_000).map(filled) },
);

/** The same bytes in chunks, split at these offsets. */
export function splitAt(whole: Buffer, cuts: readonly number[]): Buffer[] {
  const offsets = [...new Set(cuts.map((cut) => cut % (whole.length + 1)))].sort((a, b) => a - b);
  return [0, ...offsets]
    .map((from, at) => whole.subarray(from, offsets[at] ?? whole.length))
    .filter(({ length }) => length > 0);
}
export const cuts = fc.oneof(
  { weight: 12, arbitrary: fc.array(fc.nat(), { maxLength: 8 }) },
  // Byte by byte, if a request is short.
  { weight: 1, arbitrary: fc.constant(Array.from({ length: 300 }, (_, at) => at)) },
);

const blank = fc.constantFrom("", " ", "\t", "  \t");
const line = (name: string, value: string): fc.Arbitrary<string> =>
  fc
    .tuple(fc.boolean(), blank, blank)
    .map(([large, a, b]) => `${large ? name.toUpperCase() : name}:${a}${value}${b}\r\n`);

export const inChunks = (body: Buffer): fc.Arbitrary<Buffer> =>
  fc
    .record({
      places: fc.array(fc.nat(), { maxLength: 12 }),
      extension: fc.constantFrom("", ";a", ';q="x y"', " "),
      trailers: fc.constantFrom("", "x-t: 1\r\n", "x-t:\r\nexpires: never\r\n"),
    })
    .map(({ places: offsets, extension, trailers }) =>
      Buffer.concat([
        ...splitAt(body, offsets).flatMap((chunk) => [
          latin(`${chunk.length.toString(16)}${extension}\r\n`),
          chunk,
          latin("\r\n"),
        ]),
        latin(`0${extension}\r\n${trailers}\r\n`),
      ]),
    );

const framed = (body: Buffer): fc.Arbitrary<{ line: string; wire: Buffer }> => {
  const sized = line("content-length", String(body.length)).map((text) => ({ text, wire: body }));
  const chunked = fc
    .tuple(line("transfer-encoding", "chunked"), inChunks(body))
    .map(([text, wire]) => ({ text, wire }));
  const none = fc.constant({ text: "", wire: body });
  return (body.length === 0 ? fc.oneof(sized, chunked, none) : fc.oneof(sized, chunked)).map(
    ({ text, wire }) => ({ line: text, wire }),
  );
};

const request: fc.Arbitrary<Sent> = bytes.chain((body) =>
  fc
    .record({
      method: fc.constantFrom("GET", "POST", "PUT", "DELETE", "OPTIONS"),
      // Its first letter selects how the server handles it.
      target: fc.stringMatching(/^\/[rlu][a-z]{0,5}(\?[a-z=&%2]{0,6})?$/),
      host: line("host", "a.b:80"),
      others: fc.array(
        fc.constantFrom("a: b\r\n", "accept: */*\r\n", "x:\r\n", "te: trailers\r\n"),
      ),
      framing: framed(body),
      before: fc.constantFrom("", "", "", "\r\n"),
    })
    .map(({ method, target, host, others, framing, before }) => {
      const head = `${before}${method} ${target} HTTP/1.1\r\n${framing.line}${others.join("")}${host}\r\n`;
      return { method, target, body, wire: Buffer.concat([latin(head), framing.wire]) };
    }),
);
export const requests = fc.array(request, { minLength: 1, maxLength: 5 });
/** No request after it is read. */
export const lastOne = latin("GET /last HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");

const seeds = [
  "GET /a?b=c HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n",
  "POST /p HTTP/1.1\r\nhost: x\r\nContent-Length: 5\r\n\r\nhello",
  "POST /c HTTP/1.1\r\nhost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;a=b\r\nabc\r\n0\r\nt: v\r\n\r\n",
  "GET http://h/x HTTP/1.1\r\nhost: x\r\nconnection: keep-alive\r\n\r\n",
  "PUT /e HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\nhi",
  "GET /old HTTP/1.0\r\nconnection: keep-alive\r\n\r\n",
];
const signs = [..."\r\n\0 \t\x0b\x7f\x85\xa0\xff", "\r\n", "\r\n\r\n"];
const words = [...'01,;:-+x"', "0x", "close"];
const lines = [
  " folded\r\n",
  "content-length: 3\r\n",
  "Content-Length: 5\r\n",
  "Transfer-Encoding: chunked\r\n",
  "connection: close\r\n",
];
const damage = fc.record({
  at: fc.nat(),
  put: fc.constantFrom("", ...signs, ...words, ...lines),
  instead: fc.constantFrom(0, 0, 1, 2, 6),
});

/** A few requests with bytes removed, changed or inserted. */
export const damaged: fc.Arbitrary<Buffer> = fc
  .tuple(
    fc.array(fc.constantFrom(...seeds), { minLength: 1, maxLength: 3 }),
    fc.array(damage, { minLength: 1, maxLength: 3 }),
  )
  .map(([list, damages]) => {
    let text = list.join("");
    for (const { at, put, instead } of damages) {
      const from = at % (text.length + 1);
      text = text.slice(0, from) + put + text.slice(from + instead);
    }
    return latin(text);
  });

/**
 * Sends these chunks one by one, and FIN after them if `end` is set. Resolves with everything received until the close.
 */
export function converse(port: number, chunks: readonly Buffer[], end = false): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const received: Buffer[] = [];
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    socket.setNoDelay(true);
    socket.setTimeout(20_000, () => reject(new Error(`no end: ${Buffer.concat(received)}`)));
    socket.on("data", (some: Buffer) => received.push(some));
    // A connection that was reset counts as closed.
    socket.on("error", () => undefined);
    socket.on("end", () => socket.destroy());
    socket.on("close", () => resolve(Buffer.concat(received)));
    socket.on("connect", async () => {
      for (const chunk of chunks) {
        if (socket.destroyed) return;
        socket.write(chunk);
        await new Promise(setImmediate);
      }
      if (end && !socket.destroyed) socket.end();
    });
  });
}

export interface ParsedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: ReadonlyMap<string, string>;
  body: string;
  complete: boolean;
}

type Listener = (...parsed: never[]) => unknown;
interface Parser {
  initialize(type: number, resource: object): void;
  execute(bytes: Buffer): number | Error;
  [event: number]: Listener;
}
interface Parsing {
  readonly HTTPParser: (new () => Parser) & Readonly<Record<string, number>>;
  readonly methods: readonly string[];
}
/** Node's own parser, which is llhttp. */
const { HTTPParser, methods }: Parsing = createRequire(import.meta.url)("node:_http_common");
const event = (name: string): number => HTTPParser[name] as number;

/** The result of another parser: the requests it read completely, and whether it refused the rest. */
export function parsedByNode(wire: Buffer): {
  readonly parsed: ParsedRequest[];
  readonly refused: boolean;
} {
  const parsed: ParsedRequest[] = [];
  const parser = new HTTPParser();
  parser.initialize(event("REQUEST"), {});
  // After a message with trailers, it reports the headers before a body in this way as well.
  let [early, start]: [string[], string] = [[], ""];
  parser[event("kOnHeaders")] = (lines: string[], url: string) => {
    early = lines;
    start = url;
  };
  parser[event("kOnHeadersComplete")] = (
    _: number,
    __: number,
    lines: string[] | undefined,
    method: number,
    url: string | undefined,
  ) => {
    const headers = namedIn(lines ?? early);
    const name = methods[method] as string;
    parsed.push({ method: name, url: url ?? start, headers, body: "", complete: false });
    return 0;
  };
  parser[event("kOnBody")] = (some: Buffer) => {
    (parsed.at(-1) as ParsedRequest).body += some.toString("latin1");
  };
  parser[event("kOnMessageComplete")] = () => {
    (parsed.at(-1) as ParsedRequest).complete = true;
  };
  const refused = typeof parser.execute(wire) !== "number";
  return { parsed: parsed.filter(({ complete }) => complete), refused };
}

/** Names and values alternate. */
function namedIn(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (let at = 0; at < lines.length; at += 2) {
    const [name, value] = [(lines[at] as string).toLowerCase(), lines[at + 1] as string];
    headers.set(name, headers.has(name) ? `${headers.get(name)}, ${value}` : value);
  }
  return headers;
}
