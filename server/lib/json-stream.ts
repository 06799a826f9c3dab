/** JSON with long texts in it that are not in memory: written piece by piece, its length known beforehand. */

/** A body that is opened anew each time it is sent. */
export interface StreamedJson {
  readonly length: number;
  open(): AsyncIterable<Uint8Array>;
  /** The same, where all of it lies in memory: then nobody has to wait for a piece. */
  chunksInMemory?(): readonly Uint8Array[] | undefined;
}

/** Stands in a value for a text that is read when its turn comes. Of characters that JSON needs not escape. */
export class StreamedString implements StreamedJson {
  /** Of the characters, without quotes. */
  readonly length: number;
  readonly open: () => AsyncIterable<Uint8Array>;
  readonly chunksInMemory: () => readonly Uint8Array[] | undefined;
  /** Before it, within the same text: such as `data:image/png;base64,`. */
  readonly prefix: string;
  /** After it, within the same text: such as the padding of base64. */
  readonly suffix: string;

  constructor(
    length: number,
    open: () => AsyncIterable<Uint8Array>,
    {
      prefix = "",
      suffix = "",
      chunksInMemory = notInMemory,
    }: Partial<Pick<StreamedString, "prefix" | "suffix" | "chunksInMemory">> = {},
  ) {
    this.length = length;
    this.open = open;
    this.prefix = prefix;
    this.suffix = suffix;
    this.chunksInMemory = chunksInMemory;
  }
}

const notInMemory = (): undefined => undefined;

/** A string, where no such text is in it. */
export function stringifyStreamed(value: unknown): string | StreamedJson {
  const texts: StreamedString[] = [];
  const mark = crypto.randomUUID();
  const json = JSON.stringify(value, (_, entry: unknown) => {
    if (!(entry instanceof StreamedString)) return entry;
    texts.push(entry);
    return entry.prefix + mark + entry.suffix;
  });
  if (texts.length === 0) return json;
  const pieces = json.split(mark).map((piece) => Buffer.from(piece));
  const length = [...pieces, ...texts].reduce((sum, piece) => sum + piece.length, 0);
  return {
    length,
    open: () => inTurns(pieces, texts),
    chunksInMemory: () => together(pieces, texts),
  };
}

async function* inTurns(
  pieces: readonly Uint8Array[],
  texts: readonly StreamedString[],
): AsyncGenerator<Uint8Array> {
  for (const [at, piece] of pieces.entries()) {
    yield piece;
    const text = texts[at];
    if (text) yield* text.open();
  }
}

function together(
  pieces: readonly Uint8Array[],
  texts: readonly StreamedString[],
): Uint8Array[] | undefined {
  const all: Uint8Array[] = [];
  for (const [at, piece] of pieces.entries()) {
    const text = texts[at]?.chunksInMemory();
    if (at < texts.length && !text) return undefined;
    all.push(piece, ...(text ?? []));
  }
  return all;
}

/** The same between two texts. */
export function wrapJson(
  before: string,
  json: string | StreamedJson,
  after: string,
): string | StreamedJson {
  if (typeof json === "string") return before + json + after;
  const head = Buffer.from(before);
  const tail = Buffer.from(after);
  async function* open(): AsyncGenerator<Uint8Array> {
    yield head;
    yield* (json as StreamedJson).open();
    yield tail;
  }
  return { length: head.length + json.length + tail.length, open };
}

/** The length of so many bytes in base64. */
export const base64Length = (bytes: number): number => 4 * Math.ceil(bytes / 3);

/** Three bytes at a time make four characters: what is left of a piece waits for the next. */
export async function* encodeBase64Stream(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let left: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    const bytes =
      left.length > 0
        ? Buffer.concat([left, piece])
        : Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    const whole = bytes.length - (bytes.length % 3);
    if (whole > 0) yield Buffer.from(bytes.toString("base64", 0, whole), "latin1");
    // Copied: the piece lives only until the next is asked for.
    left = Buffer.from(bytes.subarray(whole));
  }
  if (left.length > 0) yield Buffer.from(left.toString("base64"), "latin1");
}
