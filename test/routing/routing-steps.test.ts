/** Routing steps in the ledger row, and the health of targets in the admin API. */
import { afterEach, describe, expect, test } from "bun:test";
import { RequestRecord } from "../../server/request/request-record.ts";
import { adminToken, asOperator } from "../events/webhooks-fixture.ts";
import type { Fake } from "../fake-upstream.ts";
import { expectVectors } from "../faults/faults-fixture.ts";
import { arrange, closeSetups } from "./routing-gateway-fixture.ts";

afterEach(closeSetups);

const always = { times: Number.POSITIVE_INFINITY };
const small = "text-embedding-3-small";

describe("the ledger row of an embeddings request", () => {
  test("has no routing steps if the first target served", async () => {
    const { gateway, embed } = arrange({ upstreams: 2 });
    for (let request = 0; request < 20; request++) await expectVectors(await embed());
    expect(gateway.rows().map(({ steps }) => steps)).toEqual(Array(20).fill(null));
  });

  test("names the target that failed before the failover", async () => {
    const { gateway, fakes, embed } = arrange({ upstreams: 2 });
    const [bad] = fakes as [Fake];
    bad.script({ fail: "server-error" }, always);
    while (bad.requests.length === 0) await expectVectors(await embed());
    const row = gateway.rows().at(-1)!;
    expect(row).toMatchObject({ upstream: "u1", attempts: 2 });
    expect(row.steps).toBe(`u0/${small}: upstream_error`);
  });

  test("names the skipped targets and the reason", async () => {
    const { gateway, fakes, embed } = arrange({ upstreams: 2 });
    const [limited] = fakes as [Fake];
    limited.script({ fail: "rate-limit", retryAfter: 60 }, always);
    while (limited.requests.length === 0) await expectVectors(await embed());
    await expectVectors(await embed());
    const row = gateway.rows().at(-1)!;
    expect(row).toMatchObject({ upstream: "u1", attempts: 1 });
    expect(row.steps).toBe(`u0/${small}: skipped, its rate limit is reached`);
  });

  test("says that the request was hedged because the first target was slow", async () => {
    const { gateway, fakes, embed } = arrange({ upstreams: 2 });
    const [slow, other] = fakes as [Fake, Fake];
    // So that the first target is preferred, and its latency is known, before it becomes slow.
    other.script({ delayMs: 20 }, always);
    while (slow.requests.length < 40) await expectVectors(await embed());
    slow.script({ delayMs: 600 }, always);
    const message = `u1/${small}: hedged, because the first target was slow`;
    const isRecorded = () => gateway.rows().some(({ steps }) => steps === message);
    const before = slow.requests.length;
    while (!isRecorded() && slow.requests.length < before + 10) await expectVectors(await embed());
    expect(isRecorded()).toBe(true);
  });

  test("has a bounded number of steps for a request that is split into many chunks", () => {
    const record = new RequestRecord("req_1", "embeddings", 0);
    for (let part = 0; part < 1000; part++) record.addStep("at_limits", { target: "a/m" });
    expect(record.steps).toEqual(["a/m: skipped, at its limits"]);
    for (let part = 0; part < 1000; part++) record.addStep("busy", { target: `t${part}/m` });
    expect(record.steps!.length).toBeLessThan(30);
  });
});

interface Shown {
  readonly upstream: string;
  readonly model: string;
  readonly models: readonly string[];
  readonly state: string;
  readonly reason: string | null;
  readonly until: string | null;
  readonly in_flight: number;
  readonly latency: readonly { readonly size: number; readonly mean_ms: number }[];
  readonly counts: Readonly<Record<string, number>>;
}

describe("GET /admin/api/targets", () => {
  const settings = { VEXEL_ADMIN_TOKEN: adminToken };
  const shown = async (url: string): Promise<readonly Shown[]> => {
    const response = await asOperator(url, "/admin/api/targets");
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toBe("no-store");
    return ((await response.json()) as { data: readonly Shown[] }).data;
  };
  const at = (list: readonly Shown[], upstream: string, model = small): Shown =>
    list.find((each) => each.upstream === upstream && each.model === model)!;

  test("lists every configured target, used or not, without address and key", async () => {
    const { gateway, fakes } = arrange({ upstreams: 2, settings });
    const list = await shown(gateway.url);
    expect(list.map(({ upstream, models }) => `${upstream} ${models}`).sort()).toEqual([
      "u0 image-model",
      "u0 vectors",
      "u1 image-model",
      "u1 vectors",
      "vexel-minilm all-minilm-l6-v2",
      "vexel-sketch vexel-sketch",
    ]);
    for (const each of list) {
      expect(each).toMatchObject({ state: "healthy", reason: null, until: null });
      expect(each.latency).toEqual([]);
    }
    const text = JSON.stringify(list);
    expect(text).not.toContain("sk-fake");
    expect(text).not.toContain(new URL(fakes[0]!.url).host);
  });

  test("shows ejected and cooling targets with their reason, counts and end time", async () => {
    const { gateway, fakes, embed, generateImage } = arrange({ upstreams: 2, settings });
    fakes[0]!.script({ fail: "server-error" }, always);
    for (let request = 0; request < 30; request++) await expectVectors(await embed());
    fakes[0]!.clear();
    fakes[0]!.script({ fail: "rate-limit", retryAfter: 60 });
    expect((await generateImage()).status).toBe(200);
    const list = await shown(gateway.url);
    const out = at(list, "u0");
    // The ejection ends after two seconds.
    expect(["ejected", "half_open"]).toContain(out.state);
    expect(out.in_flight).toBe(0);
    expect(out.reason).toMatch(/^5 failures in a row, the last: upstream_error$/);
    expect(out.counts).toMatchObject({ responses: 0, limited: 0 });
    expect(out.counts.failed).toBeGreaterThanOrEqual(5);
    expect(Date.parse(out.until!) - Date.now()).toBeLessThan(3000);
    const cooling = at(list, "u0", "gpt-image-1.5");
    expect(cooling).toMatchObject({ state: "cooling", reason: "its rate limit is reached" });
    expect(Date.parse(cooling.until!) - Date.now()).toBeWithin(50_000, 60_001);
    const well = at(list, "u1");
    expect(well).toMatchObject({ state: "healthy" });
    expect(well.counts.responses).toBe(30);
    expect(well.latency[0]!.mean_ms).toBeGreaterThan(0);
  });

  test("shows latency and outcomes also for a model's only target", async () => {
    const { gateway, fakes, embed } = arrange({ upstreams: 1, settings });
    for (let request = 0; request < 3; request++) await expectVectors(await embed());
    fakes[0]!.script({ fail: "server-error" }, always);
    expect((await embed()).status).toBe(502);
    const only = at(await shown(gateway.url), "u0");
    expect(only).toMatchObject({ state: "healthy", counts: { responses: 3, failed: 1 } });
    expect(only.latency[0]!.mean_ms).toBeGreaterThan(0);
  });

  test("shows a target that is due for a probe as half-open, and as healthy when the probe succeeded", async () => {
    const { gateway, fakes, embed } = arrange({ upstreams: 2, settings });
    fakes[0]!.script({ fail: "server-error" }, always);
    const stateIs = async (state: string) => at(await shown(gateway.url), "u0").state === state;
    while (!(await stateIs("ejected"))) await expectVectors(await embed());
    fakes[0]!.clear();
    while (!(await stateIs("half_open"))) await Bun.sleep(20);
    await expectVectors(await embed());
    expect(at(await shown(gateway.url), "u0")).toMatchObject({ state: "healthy", reason: null });
  });
});
