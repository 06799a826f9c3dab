/** What is kept of a call, and who waits for it, at the moments at which something else happens as well. */
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import {
  type Claim,
  type ClaimOptions,
  IdempotencyStore,
} from "../../server/idempotency/idempotency-store.ts";
import { IdempotentRequest } from "../../server/idempotency/idempotent-request.ts";
import type { IncomingRequest } from "../../server/request/http-types.ts";
import { RequestRecord } from "../../server/request/request-record.ts";
import { ResponseFiles } from "../../server/storage/response-files.ts";
import { until } from "../conformance/arrange.ts";
import { roomyDisk, temporaryFolder } from "../harness.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());
const shelf = (maxBytes = 10_000, now = () => Date.now()) =>
  new ResponseFiles({
    folder: join(folder.path, crypto.randomUUID()),
    ttlMs: 60_000,
    maxBytes,
    disk: roomyDisk,
    now,
  });
const unexpected = (error: unknown): void => {
  throw error;
};
const { signal } = new AbortController();
const askOf = (idempotencyKey: string): ClaimOptions => ({
  owner: "someone",
  requestId: `req_${idempotencyKey}`,
  idempotencyKey,
  fingerprint: async () => "the same",
  signal,
});
const unnamed = (name: string, fingerprint: ClaimOptions["fingerprint"]): ClaimOptions => {
  const { idempotencyKey: _, ...ask } = askOf(name);
  return { ...ask, fingerprint };
};
async function begun(kept: IdempotencyStore, ask: ClaimOptions) {
  const claimed = await kept.claim(ask);
  if (claimed.kind !== "go") throw new Error("nobody asked before");
  return claimed.claim;
}

describe("those who wait", () => {
  test("for a call that cost nothing try anew one at a time, and have the answer of the one that is served", async () => {
    const kept = new IdempotencyStore(shelf(), unexpected);
    const first = await begun(kept, askOf("twins"));
    const claims: Claim[] = [];
    const waiting = Array.from({ length: 4 }, (_, at) =>
      kept.claim({ ...askOf("twins"), requestId: `req_${at}` }).then((claim) => claims.push(claim)),
    );
    await Bun.sleep(20);
    expect(claims).toHaveLength(0);
    await first.release();
    await until(() => claims.length > 0);
    await Bun.sleep(20);
    expect(claims.map(({ kind }) => kind)).toEqual(["go"]);
    const [second] = claims;
    if (second?.kind !== "go") throw new Error("one of them makes the call");
    second.claim.append("{}");
    await second.claim.store({});
    await Promise.all(waiting);
    expect(claims.map(({ kind }) => kind)).toEqual(["go", "replay", "replay", "replay"]);
  });

  test("for an answer that there was no room for are told so, and do not pay for it again", async () => {
    const reports: unknown[] = [];
    const kept = new IdempotencyStore(shelf(100), (error) => reports.push(error));
    const first = await begun(kept, askOf("large"));
    const waiting = [1, 2, 3].map(() => kept.claim(askOf("large")));
    await Bun.sleep(20);
    first.append("x".repeat(200));
    await first.store({});
    for (const claim of await Promise.all(waiting)) {
      expect(claim).toMatchObject({ kind: "failed", error: { kind: "storage_unavailable" } });
    }
    expect(reports).toHaveLength(1);
    expect((await kept.claim(askOf("large"))).kind).toBe("go");
  });

  test("and leave at the moment at which the call ends do not hold up their id for ever", async () => {
    const kept = new IdempotencyStore(shelf(), unexpected);
    const first = await begun(kept, askOf("ends"));
    const leaver = new AbortController();
    const ask = { ...askOf("ends"), requestId: "req_leaver", signal: leaver.signal };
    const waiting = kept.claim(ask).catch(() => "left");
    await Bun.sleep(20);
    leaver.abort();
    first.settle();
    expect(await waiting).toBe("left");
    expect(await kept.findById("someone", "req_leaver")).toBeUndefined();
  });
});

describe("a caller who leaves", () => {
  test("while the call fails holds up nobody who asks the same", async () => {
    const kept = new IdempotencyStore(shelf(), unexpected);
    const reading = Promise.withResolvers<string>();
    const claim = await begun(
      kept,
      unnamed("fails", () => reading.promise),
    );
    const leaving = claim.detach();
    await claim.release();
    reading.resolve("the same");
    await leaving;
    expect(await kept.findById("someone", "req_fails")).toBeUndefined();
    expect((await kept.claim(unnamed("again", async () => "the same"))).kind).toBe("go");
  });

  test("with the last piece of a stream finds it all, although uploads are cleared away by then", async () => {
    const kept = new IdempotencyStore(shelf(), unexpected);
    let areGone = false;
    const file = {
      field: "image",
      size: 1,
      stream: async function* () {
        if (areGone) throw new Error("the upload is gone");
        yield new Uint8Array(1);
      },
    };
    const requestId = "req_last";
    const incoming = { requestId, headers: new Headers(), signal } as unknown as IncomingRequest;
    const keeping = new IdempotentRequest({
      store: kept,
      incoming,
      record: new RequestRecord(requestId, "edits", 0),
      operation: "edits",
      query: { model: "m", prompt: "p", images: [{ kind: "file", file }], files: [] },
      finishOnDisconnect: true,
      retryPaid: false,
    });
    await keeping.claim();
    async function* body(): AsyncGenerator<string> {
      yield "first ";
      await keeping.onStreamEnd(undefined, 1);
      areGone = true;
      yield "last";
    }
    const pieces = keeping.recordStream(body(), {})[Symbol.asyncIterator]();
    await pieces.next();
    await pieces.next();
    await pieces.return?.();
    let found = await kept.findById("", requestId);
    for (
      ;
      found === undefined || found === "under way";
      found = await kept.findById("", requestId)
    ) {
      await Bun.sleep(5);
    }
    expect(Buffer.concat(await Array.fromAsync(found.open())).toString()).toBe("first last");
  });

  test("and whose upload cannot be read again loses the keeping of the answer, and nothing else", async () => {
    const reports: unknown[] = [];
    const kept = new IdempotencyStore(shelf(), (error) => reports.push(error));
    const gone = () => Promise.reject(new Error("the file is gone"));
    const claim = await begun(kept, unnamed("gone", gone));
    await claim.detach();
    claim.append("{}");
    await claim.store({});
    expect(claim.isSettled).toBe(true);
    expect(await kept.findById("someone", "req_gone")).toBeUndefined();
    expect(reports.length).toBeGreaterThan(0);
  });
});

describe("an answer", () => {
  test("with a key is known to be under way by its id", async () => {
    const kept = new IdempotencyStore(shelf(), unexpected);
    const claim = await begun(kept, askOf("drawn"));
    expect(await kept.findById("someone", "req_drawn")).toBe("under way");
    claim.append("{}");
    await claim.store({});
    expect(await kept.findById("someone", "req_drawn")).toMatchObject({ requestId: "req_drawn" });
  });

  test("is found by as much of a long id as counts", async () => {
    const kept = new IdempotencyStore(shelf(), unexpected);
    const clientId = "i".repeat(600);
    const claim = await begun(kept, { ...askOf("long"), clientRequestId: clientId });
    claim.append("{}");
    await claim.store({});
    expect(await kept.findById("someone", clientId)).toMatchObject({ requestId: "req_long" });
    expect(await kept.findById("someone", clientId.slice(0, 512))).toBeDefined();
    expect(await kept.findById("someone", clientId.slice(0, 511))).toBeUndefined();
  });

  test("that was found at the last moment can still be read", async () => {
    let now = Date.now();
    const answers = shelf(10_000, () => now);
    const kept = new IdempotencyStore(answers, unexpected);
    const claim = await begun(kept, askOf("late"));
    claim.append("{}");
    await claim.store({});
    const found = await kept.findById("someone", "req_late");
    if (found === undefined || found === "under way") throw new Error("it was kept");
    now += 61_000;
    await answers.sweep();
    expect(Buffer.concat(await Array.fromAsync(found.open())).toString()).toBe("{}");
    expect(await kept.findById("someone", "req_late")).toBeUndefined();
  });
});
