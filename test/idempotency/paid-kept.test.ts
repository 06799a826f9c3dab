/** Each answer that was paid for and did not arrive can be had, by the id of its own call and by asking again. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { detachableStream } from "../../server/idempotency/detached-stream.ts";
import { IdempotencyStore } from "../../server/idempotency/idempotency-store.ts";
import { OrphanedResponses } from "../../server/idempotency/orphaned-responses.ts";
import { ResponseFiles } from "../../server/storage/response-files.ts";
import { arrange, until } from "../conformance/arrange.ts";
import { roomyDisk, temporaryFolder, testKey } from "../harness.ts";

const { fake, gateway, close } = arrange();
beforeEach(() => fake.clear());
afterAll(() => close());

const headers = { authorization: `Bearer ${testKey}`, "content-type": "application/json" };
const draw = (prompt: string, more: Record<string, string> = {}, signal?: AbortSignal) =>
  fetch(`${gateway.url}/v1/images/generations`, {
    method: "POST",
    headers: { ...headers, ...more },
    body: JSON.stringify({ model: "gpt-image-2", prompt }),
    ...(signal && { signal }),
  });

/** Asks, and says how to hang up. */
function begin(prompt: string, id: string, more: Record<string, string> = {}) {
  const controller = new AbortController();
  const asking = draw(prompt, { "x-client-request-id": id, ...more }, controller.signal);
  const over = asking.catch(() => "we hung up ourselves");
  return async () => {
    controller.abort();
    await over;
  };
}

const look = (id: string) => fetch(`${gateway.url}/v1/images/results/${id}`, { headers });

async function resultOf(id: string): Promise<Response> {
  for (;;) {
    const answer = await look(id);
    if (answer.status !== 202) return answer;
    await Bun.sleep(20);
  }
}

/** The gateway has noticed that the caller is gone. */
async function noticed(id: string): Promise<void> {
  while ((await look(id)).status !== 202) await Bun.sleep(5);
}

test("a caller who leaves while it waits for another's call is written down as one who left", async () => {
  fake.script({ delayMs: 600 });
  const leaveOne = begin("waits for another", "first-of-two");
  await until(() => fake.requests.length === 1);
  await Promise.all([leaveOne(), noticed("first-of-two")]);
  const before = gateway.rows().length;
  const leaveTwo = begin("waits for another", "second-of-two");
  await noticed("first-of-two");
  await Bun.sleep(50);
  await leaveTwo();
  await until(() => gateway.rows().length > before);
  expect(gateway.rows().at(-1)).toMatchObject({ error: "client_closed", bytesOut: 0 });
  expect(gateway.log()).not.toContain('"event":"internal-error"');
  expect((await resultOf("first-of-two")).status).toBe(200);
});

describe("two calls that ask the same, and whose callers both leave", () => {
  test("are each found by their own id", async () => {
    fake.script({ delayMs: 400 }, { times: 2 });
    const leaveOne = begin("twice", "one");
    const leaveTwo = begin("twice", "two");
    await until(() => fake.requests.length === 2);
    await Promise.all([leaveOne(), leaveTwo(), noticed("one"), noticed("two")]);
    const [one, two] = await Promise.all([resultOf("one"), resultOf("two")]);
    expect([one.status, two.status]).toEqual([200, 200]);
    const from = [one, two].map((answer) => answer.headers.get("vexel-replayed-from"));
    expect(new Set(from).size).toBe(2);
  });

  test("are both handed over to those who ask again, before anything is drawn anew", async () => {
    fake.script({ delayMs: 400 }, { times: 2 });
    const leaving = ["three", "four"].map((id) => begin("again and again", id));
    await until(() => fake.requests.length === 2);
    await Promise.all([...leaving.map((leave) => leave()), noticed("three"), noticed("four")]);
    const again = [await draw("again and again"), await draw("again and again")];
    const from = again.map((answer) => answer.headers.get("vexel-replayed-from"));
    expect(from.every((id) => id?.startsWith("req_"))).toBe(true);
    expect(new Set(from).size).toBe(2);
    expect(fake.requests).toHaveLength(2);
    expect((await draw("again and again")).headers.get("idempotent-replayed")).toBeNull();
  });
});

test.each<[string, Record<string, string>]>([
  ["the same Idempotency-Key", { "idempotency-key": crypto.randomUUID() }],
  ["the same question", {}],
])(
  "who waits for a twin with %s and leaves too finds its answer by their own id",
  async (name, more) => {
    fake.script({ delayMs: 500 });
    const leaveFirst = begin(name, `${name} 1`, more);
    await until(() => fake.requests.length === 1);
    await Promise.all([leaveFirst(), noticed(`${name} 1`)]);
    const leaveSecond = begin(name, `${name} 2`, more);
    // Nothing shows that it waits, and nothing is promised of when it began to.
    await Bun.sleep(100);
    await Promise.all([leaveSecond(), noticed(`${name} 2`)]);
    const [first, second] = await Promise.all([resultOf(`${name} 1`), resultOf(`${name} 2`)]);
    expect(second.status).toBe(200);
    expect(await second.text()).toBe(await first.text());
    expect(fake.requests).toHaveLength(1);
  },
);

test("what was fetched by its id has arrived: who asks the same again gets a picture of their own", async () => {
  fake.script({ delayMs: 200 });
  const leave = begin("fetched", "fetched");
  await until(() => fake.requests.length === 1);
  await Promise.all([leave(), noticed("fetched")]);
  expect((await resultOf("fetched")).status).toBe(200);
  expect((await draw("fetched")).headers.get("idempotent-replayed")).toBeNull();
  expect(fake.requests).toHaveLength(2);
});

test("the same key of an answer in which pictures are missing gives that answer, and says what is missing", async () => {
  const key = { "idempotency-key": crypto.randomUUID() };
  const ask = () =>
    gateway.post("/v1/images/generations", { model: "gpt-image-2", prompt: "some", n: 3 }, key);
  fake.script({ images: "missing" });
  const first = await ask();
  const second = await ask();
  expect(first.headers.get("vexel-missing")).toBe("1; error=upstream_invalid");
  expect(second.headers.get("vexel-missing")).toBe("1; error=upstream_invalid");
  expect(second.headers.get("idempotent-replayed")).toBe("true");
  expect(await second.text()).toBe(await first.text());
  expect(fake.requests).toHaveLength(1);
});

describe("on the shelf", () => {
  const folder = temporaryFolder();
  afterAll(() => folder[Symbol.dispose]());
  const shelf = (maxBytes: number) =>
    new ResponseFiles({
      folder: join(folder.path, crypto.randomUUID()),
      ttlMs: 60_000,
      maxBytes,
      disk: roomyDisk,
      now: () => Date.now(),
    });
  const { signal } = new AbortController();
  const askOf = (idempotencyKey: string) => ({
    owner: "someone",
    requestId: `req_${idempotencyKey}`,
    idempotencyKey,
    fingerprint: async () => "the same",
    signal,
  });

  test("an answer that there was no room for is not kept in part", async () => {
    const reports: unknown[] = [];
    const kept = new IdempotencyStore(shelf(1000), (error) => reports.push(error));
    const claimed = await kept.claim(askOf("a"));
    if (claimed.kind !== "go") throw new Error("nobody asked before");
    for (const length of [600, 600, 10]) claimed.claim.append("x".repeat(length));
    await claimed.claim.store({});
    expect(reports).toHaveLength(1);
    expect((await kept.claim(askOf("a"))).kind).toBe("go");
  });

  test("small answers cannot take more room than there is by their number", async () => {
    const reports: unknown[] = [];
    const kept = new IdempotencyStore(shelf(10_000), (error) => reports.push(error));
    for (let at = 0; at < 100; at++) {
      const claimed = await kept.claim(askOf(`small ${at}`));
      if (claimed.kind !== "go") throw new Error("nobody asked before");
      claimed.claim.append("{}");
      await claimed.claim.store({});
    }
    expect(reports.length).toBeGreaterThan(50);
  });

  test("whoever asks the same while an answer that did not arrive is being kept waits for it, and holds up nobody", async () => {
    const kept = new IdempotencyStore(shelf(10_000), (error) => expect(error).toBeUndefined());
    const ask = (requestId: string) => {
      const { idempotencyKey: _, ...rest } = askOf(requestId);
      return { ...rest, requestId };
    };
    const first = await kept.claim(ask("req_1"));
    if (first.kind !== "go") throw new Error("nobody asked before");
    // It was made and was on its way; then its caller left.
    first.claim.settle();
    await first.claim.detach();
    const second = kept.claim(ask("req_2"));
    await Bun.sleep(10);
    first.claim.append("{}");
    await first.claim.store({});
    expect(await second).toMatchObject({ kind: "replay", answer: { requestId: "req_1" } });
  });

  test("a stream that breaks is over for those who wait for it", async () => {
    async function* breaking(): AsyncGenerator<string> {
      yield "one";
      throw new Error("broken");
    }
    let over = 0;
    const { chunks: pieces } = detachableStream(breaking(), {
      continueDetached: true,
      onDetach: () => undefined,
      onChunk: () => undefined,
      onEnd: async () => {
        over++;
      },
    });
    const reading = (async () => {
      for await (const piece of pieces) expect(piece).toBe("one");
    })();
    expect(reading).rejects.toThrow("broken");
    await reading.catch(() => "as expected");
    expect(over).toBe(1);
  });

  test("what was lost is remembered up to a number, and a caller who lost nothing is not looked up", () => {
    const lost = new OrphanedResponses(2);
    for (const call of ["a", "b", "c"]) lost.add(call, { owner: call, question: "q" });
    expect(lost.has("a")).toBe(false);
    expect(lost.first("q")).toBe("b");
    lost.remove("b");
    lost.remove("c");
    expect(lost.first("q")).toBeUndefined();
    expect(lost.has("c")).toBe(false);
  });
});
