/** Streams chunk by chunk: silence, early and late errors, and the ledger row that is written before the last chunk. */
import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import {
  type StreamEvent,
  settleAtEnd,
  withHeartbeats,
} from "../../server/pipeline/stream-response.ts";

const piece = (body: StreamEvent["body"], closing = false): StreamEvent => ({
  body,
  mayBeLast: closing,
});
const failure = () => new GatewayError("upstream_error", "The upstream failed.");
const never = new AbortController().signal;
const quick = { firstEventMs: 50, heartbeatMs: 30 };

/** Pieces, pauses in milliseconds, or a failure, in order. */
async function* story(
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
  readonly fault: string | undefined;
  /** What had left when the row was written. */
  readonly left: readonly string[];
}

/** Walks through a stream as a caller does; `stop` leaves after so many pieces. */
async function walk(
  chunks: AsyncIterable<StreamEvent>,
  stop = Number.POSITIVE_INFINITY,
  broken?: Error,
) {
  const left: string[] = [];
  const rows: Row[] = [];
  const settle = async (bytes: number, error?: GatewayError): Promise<void> => {
    rows.push({ bytes, fault: error?.kind, left: [...left] });
    if (broken) throw broken;
  };
  let cleared = 0;
  const clear = async (): Promise<void> => {
    cleared++;
  };
  for await (const part of settleAtEnd(chunks, { settle, clear }, never)) {
    expect(cleared).toBe(0);
    left.push(Buffer.from(part).toString());
    if (left.length >= stop) break;
  }
  expect(cleared).toBe(1);
  return { left, rows };
}

describe("a stream", () => {
  test("leaves whole, and its row is written before its last piece", async () => {
    const { left, rows } = await walk(story(piece("a"), piece("b"), piece("ß", true)));
    expect(left).toEqual(["a", "b", "ß"]);
    expect(rows).toEqual([{ bytes: 4, fault: undefined, left: ["a", "b"] }]);
  });

  test("is read while it leaves where it is long, and what it lies in is cleared away after", async () => {
    const long = {
      length: 4,
      open: async function* () {
        for (const part of ["lo", "ng"]) yield Buffer.from(part);
      },
    };
    const { left, rows } = await walk(story(piece(long), piece("p"), piece(long, true)));
    expect(left).toEqual(["lo", "ng", "p", "lo", "ng"]);
    expect(rows).toEqual([{ bytes: 9, fault: undefined, left: ["lo", "ng", "p"] }]);
  });

  test("holds back only what may be the last", async () => {
    const { left, rows } = await walk(story(piece("1", true), piece("p"), piece("2", true)));
    expect(left).toEqual(["1", "p", "2"]);
    expect(rows[0]!.left).toEqual(["1", "p"]);
  });

  test("that breaks keeps what was finished, then says what happened, once", async () => {
    const { left, rows } = await walk(story(piece("p"), piece("done", true), failure()));
    expect(left.slice(0, 2)).toEqual(["p", "done"]);
    expect(left[2]).toStartWith('event: error\ndata: {"error":{"message":"The upstream failed."');
    expect(left).toHaveLength(3);
    expect(rows).toEqual([{ bytes: 5, fault: "upstream_error", left: ["p"] }]);
  });

  test("whose row cannot be written does not leave as if it were", async () => {
    const full = new GatewayError("ledger_unavailable", "The disk is full.");
    const { left, rows } = await walk(story(piece("p"), piece("done", true)), undefined, full);
    expect(left).toEqual(["p", expect.stringContaining('"code":"ledger_unavailable"')]);
    expect(rows).toHaveLength(1);
  });

  test("that the caller leaves has one row, which says so", async () => {
    let closed = false;
    async function* endless(): AsyncGenerator<StreamEvent> {
      try {
        for (;;) yield piece("p");
      } finally {
        closed = true;
      }
    }
    const { rows } = await walk(endless(), 3);
    expect(rows.map(({ fault }) => fault)).toEqual(["client_closed"]);
    expect(closed).toBe(true);
  });

  test("that throws something unforeseen shows none of it", async () => {
    const { left, rows } = await walk(story(piece("p"), new TypeError("secret at /home/x.ts:1")));
    expect(left.join("")).not.toContain("secret");
    expect(left.join("")).toContain('"code":"server_error"');
    expect(rows[0]!.fault).toBe("internal");
  });
});

describe("a silent stream", () => {
  test("is kept alive with comments, which no client sees", async () => {
    const { left } = await walk(
      await withHeartbeats(story(piece("a"), 150, piece("b", true)), quick),
    );
    expect(left[0]).toBe("a");
    expect(left.at(-1)).toBe("b");
    const beats = left.slice(1, -1);
    expect(beats.length).toBeGreaterThanOrEqual(1);
    for (const beat of beats) expect(beat).toMatch(/^: .*\n\n$/);
  });

  test("loses nothing and doubles nothing", async () => {
    const pieces = Array.from({ length: 5 }, (_, i) => [40, piece(`${i}`)] as const).flat();
    const { left } = await walk(await withHeartbeats(story(...pieces), quick));
    expect(left.filter((text) => !text.startsWith(":"))).toEqual(["0", "1", "2", "3", "4"]);
  });

  test("that fails at once is refused with a status", async () => {
    const refused = await withHeartbeats(story(failure()), quick).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({ kind: "upstream_error" });
  });

  test("that fails later says so in its own frame", async () => {
    const { left, rows } = await walk(await withHeartbeats(story(120, failure()), quick));
    expect(left.at(-1)).toStartWith("event: error");
    expect(rows.map(({ fault }) => fault)).toEqual(["upstream_error"]);
  });

  test("that the caller leaves during the silence lets go of the upstream", async () => {
    let closed = false;
    async function* slow(): AsyncGenerator<StreamEvent> {
      try {
        yield piece("a");
        await Bun.sleep(60);
        yield piece("b");
        await Bun.sleep(60);
        yield piece("c");
      } finally {
        closed = true;
      }
    }
    const { rows } = await walk(await withHeartbeats(slow(), quick), 2);
    expect(rows.map(({ fault }) => fault)).toEqual(["client_closed"]);
    await Bun.sleep(200);
    expect(closed).toBe(true);
  });
});
