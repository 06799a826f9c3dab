/** Streams chunk by chunk: silence, early and late errors, and the ledger row that is written before the last chunk. */
import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import {
  type StreamEvent,
  settleAtEnd,
  withHeartbeats,
} from "../../server/pipeline/stream-response.ts";

const chunk = (body: StreamEvent["body"], closing = false): StreamEvent => ({
  body,
  mayBeLast: closing,
});
const failure = () => new GatewayError("upstream_error", "The upstream failed.");
const never = new AbortController().signal;
const shortIntervals = { firstEventMs: 50, heartbeatMs: 30 };

/** A stream of chunks, pauses in milliseconds, or a failure, in order. */
async function* chunksOf(
  ...steps: readonly (StreamEvent | number | Error)[]
): AsyncGenerator<StreamEvent> {
  for (const step of steps) {
    if (typeof step === "number") await Bun.sleep(step);
    else if (step instanceof Error) throw step;
    else yield step;
  }
}

interface Row {
  readonly bytes: number;
  readonly error: string | undefined;
  /** The chunks that were sent before the row was written. */
  readonly sent: readonly string[];
}

/** Reads a stream like a client, which disconnects after `stop` chunks. */
async function readStream(
  chunks: AsyncIterable<StreamEvent>,
  stop = Number.POSITIVE_INFINITY,
  settleError?: Error,
) {
  const sent: string[] = [];
  const rows: Row[] = [];
  const settle = async (bytes: number, error?: GatewayError): Promise<void> => {
    rows.push({ bytes, error: error?.kind, sent: [...sent] });
    if (settleError) throw settleError;
  };
  let cleared = 0;
  const clear = async (): Promise<void> => {
    cleared++;
  };
  const clientError = (error: GatewayError): GatewayError => error;
  for await (const part of settleAtEnd(chunks, { settle, clientError, clear }, never)) {
    expect(cleared).toBe(0);
    sent.push(Buffer.from(part).toString());
    if (sent.length >= stop) break;
  }
  expect(cleared).toBe(1);
  return { sent, rows };
}

describe("a stream", () => {
  test("is sent completely, and its ledger row is written before the last chunk", async () => {
    const { sent, rows } = await readStream(chunksOf(chunk("a"), chunk("b"), chunk("ß", true)));
    expect(sent).toEqual(["a", "b", "ß"]);
    expect(rows).toEqual([{ bytes: 4, error: undefined, sent: ["a", "b"] }]);
  });

  test("reads a long chunk while it is sent, and releases its storage afterwards", async () => {
    const long = {
      length: 4,
      open: async function* () {
        for (const part of ["lo", "ng"]) yield Buffer.from(part);
      },
    };
    const { sent, rows } = await readStream(chunksOf(chunk(long), chunk("p"), chunk(long, true)));
    expect(sent).toEqual(["lo", "ng", "p", "lo", "ng"]);
    expect(rows).toEqual([{ bytes: 9, error: undefined, sent: ["lo", "ng", "p"] }]);
  });

  test("delays only a chunk that may be the last", async () => {
    const { sent, rows } = await readStream(
      chunksOf(chunk("1", true), chunk("p"), chunk("2", true)),
    );
    expect(sent).toEqual(["1", "p", "2"]);
    expect(rows[0]!.sent).toEqual(["1", "p"]);
  });

  test("that breaks delivers the finished chunks and then one error event", async () => {
    const { sent, rows } = await readStream(chunksOf(chunk("p"), chunk("done", true), failure()));
    expect(sent.slice(0, 2)).toEqual(["p", "done"]);
    expect(sent[2]).toStartWith(
      'event: error\ndata: {"type":"error","error":{"message":"The upstream failed."',
    );
    expect(sent).toHaveLength(3);
    expect(rows).toEqual([{ bytes: 5, error: "upstream_error", sent: ["p"] }]);
  });

  test("whose ledger row cannot be written ends with an error instead of its last chunk", async () => {
    const full = new GatewayError("ledger_unavailable", "The disk is full.");
    const { sent, rows } = await readStream(
      chunksOf(chunk("p"), chunk("done", true)),
      undefined,
      full,
    );
    expect(sent).toEqual(["p", expect.stringContaining('"code":"ledger_unavailable"')]);
    expect(rows).toHaveLength(1);
  });

  test("whose client disconnects has one ledger row with client_closed", async () => {
    let closed = false;
    async function* endless(): AsyncGenerator<StreamEvent> {
      try {
        for (;;) yield chunk("p");
      } finally {
        closed = true;
      }
    }
    const { rows } = await readStream(endless(), 3);
    expect(rows.map(({ error }) => error)).toEqual(["client_closed"]);
    expect(closed).toBe(true);
  });

  test("that throws an unexpected error does not disclose it", async () => {
    const { sent, rows } = await readStream(
      chunksOf(chunk("p"), new TypeError("secret at /home/x.ts:1")),
    );
    expect(sent.join("")).not.toContain("secret");
    expect(sent.join("")).toContain('"code":"server_error"');
    expect(rows[0]!.error).toBe("internal");
  });
});

describe("a silent stream", () => {
  test("is kept alive by comments, which clients ignore", async () => {
    const { sent } = await readStream(
      await withHeartbeats(chunksOf(chunk("a"), 150, chunk("b", true)), shortIntervals),
    );
    expect(sent[0]).toBe("a");
    expect(sent.at(-1)).toBe("b");
    const beats = sent.slice(1, -1);
    expect(beats.length).toBeGreaterThanOrEqual(1);
    for (const beat of beats) expect(beat).toMatch(/^: .*\n\n$/);
  });

  test("loses and duplicates no chunk", async () => {
    const chunks = Array.from({ length: 5 }, (_, i) => [40, chunk(`${i}`)] as const).flat();
    const { sent } = await readStream(await withHeartbeats(chunksOf(...chunks), shortIntervals));
    expect(sent.filter((text) => !text.startsWith(":"))).toEqual(["0", "1", "2", "3", "4"]);
  });

  test("that fails early gets an error status", async () => {
    const thrown = await withHeartbeats(chunksOf(failure()), shortIntervals).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(thrown).toMatchObject({ kind: "upstream_error" });
  });

  test("that fails late ends with an error event", async () => {
    const { sent, rows } = await readStream(
      await withHeartbeats(chunksOf(120, failure()), shortIntervals),
    );
    expect(sent.at(-1)).toStartWith("event: error");
    expect(rows.map(({ error }) => error)).toEqual(["upstream_error"]);
  });

  test("whose client disconnects during the silence closes the upstream stream", async () => {
    let closed = false;
    async function* slow(): AsyncGenerator<StreamEvent> {
      try {
        yield chunk("a");
        await Bun.sleep(60);
        yield chunk("b");
        await Bun.sleep(60);
        yield chunk("c");
      } finally {
        closed = true;
      }
    }
    const { rows } = await readStream(await withHeartbeats(slow(), shortIntervals), 2);
    expect(rows.map(({ error }) => error)).toEqual(["client_closed"]);
    await Bun.sleep(200);
    expect(closed).toBe(true);
  });
});
