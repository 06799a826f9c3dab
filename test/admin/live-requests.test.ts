/** The live tail: bounded, sampled, serialized once, and only with requests that the viewer may see. */
import { afterAll, expect, test } from "bun:test";
import type { LiveBatch } from "../../contract/admin.ts";
import { LiveTail } from "../../server/admin/reads/live-tail.ts";
import type { Caller } from "../../server/request/caller.ts";
import { RequestRecord } from "../../server/request/request-record.ts";
import { asOperator } from "../events/webhooks-fixture.ts";
import { until } from "../until.ts";
import { signInAs, startReads } from "./reads-fixture.ts";

const recordOf = (id: string, project?: string): RequestRecord => {
  const record = new RequestRecord(id, "embeddings", 0);
  const owner = project === undefined ? {} : { project };
  record.caller = { id: "ci", name: "ci", ...owner } as unknown as Caller;
  record.outcome.status = 200;
  return record;
};

/** Ticks when the test says so. */
function manualLive(observers = new Set<(record: RequestRecord) => void>()) {
  const timers = { tick: (): void => undefined, running: 0 };
  const live = new LiveTail({
    observers,
    repeat: (tick) => {
      timers.tick = tick;
      timers.running++;
      return () => timers.running--;
    },
  });
  return { live, timers };
}

/** A user of their own for each stream. */
let users = 0;
const owner = () => ({ user: `user_${users++}`, isAllowed: async () => true });

const parse = (bytes: Uint8Array | undefined) => {
  const [, event, data] =
    /^event: (\w+)\ndata: (.*)\n\n$/.exec(new TextDecoder().decode(bytes)) ?? [];
  return { event, data: JSON.parse(data ?? "null") };
};

test("without viewers no timer runs and no request is observed", () => {
  const observers = new Set<(record: RequestRecord) => void>();
  const { live, timers } = manualLive(observers);
  expect([live.viewers, timers.running, observers.size]).toEqual([0, 0, 0]);
  const viewer = live.open({}, owner())!;
  expect([timers.running, observers.size]).toEqual([1, 1]);
  viewer.close();
  expect([live.viewers, timers.running, observers.size]).toEqual([0, 0, 0]);
});

test("of a burst of requests, a sample is sent with the number of skipped requests", async () => {
  const { live, timers } = manualLive();
  const viewer = live.open({}, owner())!;
  for (let request = 0; request < 500; request++) live.publish(recordOf(`req_${request}`));
  timers.tick();
  const { event, data } = parse(await viewer.next());
  expect([event, data.data.length, data.skipped]).toEqual(["requests", 20, 480]);
});

test("viewers with the same filter share one serialization", async () => {
  const { live, timers } = manualLive();
  const viewers = Array.from({ length: 10 }, () => live.open({ model: undefined }, owner())!);
  live.publish(recordOf("req_1"));
  timers.tick();
  const chunks = await Promise.all(viewers.map((viewer) => viewer.next()));
  expect(new Set(chunks).size).toBe(1);
});

test("a slow viewer loses batches and gets the number of lost requests; other viewers lose none", async () => {
  const { live, timers } = manualLive();
  const [slow, fast] = [live.open({}, owner())!, live.open({}, owner())!];
  let received = 0;
  for (let batch = 0; batch < 30; batch++) {
    live.publish(recordOf(`req_${batch}`));
    timers.tick();
    received += parse(await fast.next()).data.data.length;
  }
  expect(received).toBe(30);
  expect(parse(await slow.next())).toEqual({ event: "dropped", data: { count: 10 } });
  for (let batch = 0; batch < 20; batch++) expect(parse(await slow.next()).event).toBe("requests");
});

test("a viewer of one project gets its requests, however many requests other projects have", async () => {
  const { live, timers } = manualLive();
  const viewer = live.open({ projects: ["alpha"] }, owner())!;
  const outsider = live.open({ projects: [] }, owner())!;
  for (let request = 0; request < 100; request++) live.publish(recordOf(`req_b${request}`, "beta"));
  live.publish(recordOf("req_a", "alpha"));
  live.publish(recordOf("req_none"));
  timers.tick();
  const { data } = parse(await viewer.next()) as { data: LiveBatch };
  expect([data.data.map(({ id }) => id), data.skipped]).toEqual([["req_a"], 0]);
  live.close();
  expect(await outsider.next()).toBeUndefined();
});

test("more viewers than allowed are refused", () => {
  const { live } = manualLive();
  const [first] = Array.from({ length: 100 }, () => live.open({}, owner())!);
  expect(live.open({}, owner())).toBeUndefined();
  first?.close();
  first?.close();
  expect(live.viewers).toBe(99);
  expect(live.open({}, owner())).toBeDefined();
});

test("a stream ends after its time, so that the browser authenticates again", async () => {
  const { live, timers } = manualLive();
  const viewer = live.open({}, owner())!;
  for (let tick = 0; tick < 600; tick++) timers.tick();
  while ((await viewer.next()) !== undefined) {
    // Heartbeats, which were queued before.
  }
  expect(live.viewers).toBe(0);
});

test("one user does not take the streams of all others", () => {
  const { live } = manualLive();
  const [one, other] = [owner(), owner()];
  const viewers = Array.from({ length: 5 }, (_, at) => live.open({ model: `m${at}` }, one));
  expect(live.open({}, one)).toBeUndefined();
  expect(live.open({}, other)).toBeDefined();
  viewers[0]?.close();
  expect(live.open({}, one)).toBeDefined();
});

test("a few users with all their streams leave streams for the others", () => {
  const { live } = manualLive();
  for (let user = 0; user < 10; user++) {
    const one = owner();
    for (let stream = 0; stream < 5; stream++) expect(live.open({}, one)).toBeDefined();
    expect(live.open({}, one)).toBeUndefined();
  }
  expect(live.open({}, owner())).toBeDefined();
});

test("a stream whose user has lost access ends, and sends nothing of what is queued", async () => {
  const { live, timers } = manualLive();
  const access = { isAllowed: true };
  const viewer = live.open({}, { user: "user_1", isAllowed: async () => access.isAllowed })!;
  for (let tick = 0; tick < 10; tick++) timers.tick();
  expect(live.viewers).toBe(1);
  access.isAllowed = false;
  live.publish(recordOf("req_1"));
  for (let tick = 0; tick < 10; tick++) timers.tick();
  await until(() => live.viewers === 0);
  expect(await viewer.next()).toBeUndefined();
});

const setup = startReads();
afterAll(() => setup.close());

test("a member follows the requests of their own project over HTTP, and a closed tab frees its slot", async () => {
  const get = await signInAs(setup, { name: "Dev", role: "viewer", projects: ["alpha"] });
  const response = await get("/requests/live");
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  let text = "";
  const reader = response.body!.getReader();
  const reading = (async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += new TextDecoder().decode(value);
    }
  })();
  const viewers = async () =>
    (await setup.admin<{ live_viewers: number }>("/statistics")).live_viewers;
  await until(async () => (await viewers()) === 1);
  await setup.embed("beta");
  await setup.embed("alpha");
  await until(() => text.includes('"project":"alpha"'));
  expect(text).not.toContain('"project":"beta"');
  expect(text).not.toContain("a text");
  await reader.cancel();
  await reading;
  await until(async () => (await viewers()) === 0);
});

type Change = (id: string) => Promise<Response>;
const lostAccess: Readonly<Record<string, Change>> = {
  "is deleted": (id) => asOperator(setup.gateway.url, `/admin/api/users/${id}`, "DELETE"),
  "loses a project": (id) =>
    asOperator(setup.gateway.url, `/admin/api/users/${id}`, "PATCH", { projects: ["beta"] }),
};

for (const [what, change] of Object.entries(lostAccess)) {
  test(`the live tail of a user who ${what} ends`, async () => {
    const name = `Reader who ${what}`;
    const get = await signInAs(setup, { name, role: "viewer", projects: ["alpha"] });
    const response = await get("/requests/live");
    const { data } = await setup.admin<{ data: { id: string; name: string }[] }>("/users");
    const { id = "" } = data.find((user) => user.name === name) ?? {};
    expect((await change(id)).ok).toBe(true);
    // The end of the stream: without the check, it would come after a minute.
    const reader = response.body!.getReader();
    const started = performance.now();
    while (!(await reader.read()).done);
    expect(performance.now() - started).toBeLessThan(30_000);
  });
}
