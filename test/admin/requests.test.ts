/** The requests of the ledger in the admin API: filters, pages, one request, and projects. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { RequestDetail, RequestPage } from "../../contract/admin.ts";
import { until } from "../until.ts";
import { startReads } from "./reads-fixture.ts";

const setup = startReads();
const { embed, admin, fake, gateway } = setup;
afterAll(() => setup.close());

const list = (query = ""): Promise<RequestPage> => admin(`/requests${query}`);
const idsOf = ({ data }: RequestPage) => data.map(({ id }) => id);

beforeAll(async () => {
  for (let request = 0; request < 3; request++) await embed("alpha");
  await embed("beta", { model: "other" });
  await embed("none", { model: "unknown-model" });
  fake.script({ delayMs: 120 });
  await embed("beta");
  await until(async () => (await list()).data.length === 6);
});

test("requests are found by key, project, model, target, status, error, latency and id", async () => {
  const all = (await list()).data;
  const slow = all.toSorted((a, b) => b.latency_ms - a.latency_ms)[0]!;
  const count = async (query: string) => (await list(query)).data.length;
  expect(
    await count(
      `?key=${encodeURIComponent(all.find(({ key_name }) => key_name === "beta-key")!.key_id)}`,
    ),
  ).toBe(2);
  expect(await count("?key=beta-key")).toBe(2);
  expect(await count("?project=alpha")).toBe(3);
  expect(await count("?model=other")).toBe(1);
  expect(await count("?target=fake")).toBe(5);
  expect(await count("?target=fake/text-embedding-3-large")).toBe(1);
  expect(await count("?status=ok")).toBe(5);
  expect(await count("?status=error")).toBe(1);
  expect(await count("?status=4xx")).toBe(1);
  expect(await count("?status=200")).toBe(5);
  expect(await count("?error=model_not_found")).toBe(1);
  // Shown latencies are rounded: the stored one may be a little lower.
  const since = Math.floor(slow.latency_ms) - 1;
  const isSlow = ({ latency_ms }: { latency_ms: number }) => latency_ms >= since;
  expect(await count(`?min_latency_ms=${since}`)).toBe(all.filter(isSlow).length);
  expect(await count(`?max_latency_ms=${since}`)).toBe(6 - all.filter(isSlow).length);
  expect(await count("?max_cost=0")).toBe(0);
  expect(await count("?min_cost=0")).toBe(5);
  expect(idsOf(await list(`?request_id=${slow.id}`))).toEqual([slow.id]);
  expect(await count(`?from=${all[0]!.at}`)).toBeGreaterThanOrEqual(1);
  expect(await count("?to=2020-01-01T00:00:00Z")).toBe(0);
});

test("a parameter that cannot be read is refused by name", async () => {
  for (const [query, param] of [
    ["status=fine", "status"],
    ["min_cost=-1", "min_cost"],
    ["from=yesterday", "from"],
    ["limit=0", "limit"],
    ["limit=5000", "<= 200, but got 5000"],
    ["cursor=nonsense", "cursor"],
    ["modle=other", "modle"],
  ]) {
    const failed = await list(`?${query}`).catch(String);
    expect(failed).toContain("400");
    expect(failed).toContain(param!);
  }
});

test("pages have every request once, newest first", async () => {
  const ids: string[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page = await list(`?limit=2&cursor=${encodeURIComponent(cursor)}`);
    ids.push(...idsOf(page));
    cursor = page.next_cursor;
  }
  expect(ids).toEqual(idsOf(await list()));
  expect(new Set(ids).size).toBe(6);
});

test("one request has its timeline, its target, and no content", async () => {
  const { id } = (await list("?model=vectors&project=beta")).data[0]!;
  const request = await admin<RequestDetail>(`/requests/${id}`);
  expect(request).toMatchObject({
    id,
    key_name: "beta-key",
    inputs: 1,
    queued_ms: 0,
  });
  expect(request.timeline).toMatchObject([
    { target: "fake/text-embedding-3-small", error: null, is_hedge: false },
  ]);
  expect(request.timeline[0]!.duration_ms).toBeGreaterThanOrEqual(119);
  expect(JSON.stringify(request)).not.toContain("a text");
});

test("a request that does not exist is reported as not found", async () => {
  expect(await admin("/requests/req_nothing").catch(String)).toContain("404");
});

test("requests are served while the admin API lists requests", async () => {
  const [page, response] = await Promise.all([list(), embed("none")]);
  expect([page.object, response.status]).toEqual(["list", 200]);
  expect(gateway.inFlight()).toBe(0);
});
