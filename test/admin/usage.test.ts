/** Usage, its CSV, the overview, budgets and limits in the admin API, and what a member of one project sees of them. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type {
  KeyUse,
  Overview,
  Page,
  ShownBudget,
  ShownLimit,
  UsagePage,
} from "../../contract/admin.ts";
import { adminTokenActor } from "../../server/admin/actor.ts";
import { readableQueries } from "../../server/admin/reads/readable-queries.ts";
import { ownerFilter } from "../../server/admin/reads/request-filter.ts";
import { showSums } from "../../server/admin/reads/show-usage.ts";
import { csvCell } from "../../server/admin/reads/usage-csv.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { latencyPercentile } from "../../server/storage/latency-percentile.ts";
import { until } from "../until.ts";
import { signInAs, startReads } from "./reads-fixture.ts";

const soon = new Date(Date.now() + 3_600_000).toISOString();
const setup = startReads({
  more: `  - { name: short-lived, key: sk-short-0123456789abcdef, project: beta, expires: "${soon}" }`,
});
const { embed, admin } = setup;
afterAll(() => setup.close());

type Get = (path: string) => Promise<Response>;
let member: Get;
const json = async <T>(response: Promise<Response>): Promise<T> =>
  (await (await response).json()) as T;

beforeAll(async () => {
  await embed("alpha", { input: ["one", "two"] });
  for (let request = 0; request < 2; request++) await embed("beta", { model: "other" });
  await embed("none");
  await embed("none", { model: "unknown-model" });
  await until(async () => (await admin<Overview>("/overview")).totals.requests === 5);
  member = await signInAs(setup, { name: "Dev", role: "developer", projects: ["alpha"] });
});

describe("usage", () => {
  test("has costs without the rounding noise of floating point", () => {
    const counts = {
      requests: 3,
      errors: 0,
      refused: 0,
      unmeteredRequests: 0,
      unpricedRequests: 0,
    };
    const amounts = { inputTokens: 0, outputTokens: 0, images: 0, inputs: 0, cachedInputs: 0 };
    const latency = { latencyMs: 0, latencyHistogram: [] };
    const costs = { cost: 0.009 + 0.009 + 0.009, estimatedCost: 0.1 + 0.2 };
    expect(showSums({ ...counts, ...amounts, ...latency, ...costs })).toMatchObject({
      cost: 0.027,
      estimated_cost: 0.3,
    });
  });

  test("is grouped by any combination of key, project, model and target", async () => {
    const byProject = await admin<UsagePage>("/usage?interval=total&group_by=project");
    const counts = byProject.data.map(({ group, requests }) => [group.project, requests]);
    expect(counts.sort()).toEqual(
      [
        ["alpha", 1],
        ["beta", 2],
        [null, 2],
      ].sort(),
    );
    const byTarget = await admin<UsagePage>(
      "/usage?interval=hour&group_by=model,target&project=beta",
    );
    expect(byTarget.data).toMatchObject([
      {
        group: { model: "other", target: "fake/text-embedding-3-large" },
        requests: 2,
        key_name: null,
      },
    ]);
    const byKey = await admin<UsagePage>("/usage?interval=day&group_by=key&project=alpha");
    expect(byKey.data).toMatchObject([{ key_name: "=alpha", inputs: 2, cached_inputs: 0 }]);
  });

  test("of keys has the charge and the last use of each, and a member sees only the own project", async () => {
    const { data: keys } = await admin<UsagePage>("/usage?interval=total&group_by=key");
    const idOf = (requests: number) =>
      keys.find((each) => each.requests === requests)?.group.key ?? "";
    const path = `/key-use?ids=${idOf(1)},${idOf(2)},unused`;
    const used = { object: "key_use", used_within_days: 1 };
    const { data } = await admin<Page<KeyUse>>(path);
    expect(data).toMatchObject([
      { ...used, id: idOf(1), requests: 1 },
      { ...used, id: idOf(2), requests: 2 },
      { id: "unused", requests: 0, charged: 0, used_within_days: null },
    ]);
    const seen = await json<Page<KeyUse>>(member(path));
    expect(seen.data.map(({ requests }) => requests)).toEqual([1, 0, 0]);
  });

  test("by an unknown dimension is refused with the dimensions", async () => {
    expect(await admin("/usage?group_by=model,banana").catch(String)).toContain(
      "Invalid 'group_by': it must be one or more of model, key, project, upstream, target",
    );
  });

  test("by upstream, status and user sums every request once", async () => {
    const groups = async (name: "upstream" | "status" | "user") => {
      const { data } = await admin<UsagePage>(`/usage?interval=total&group_by=${name}`);
      return Object.fromEntries(data.map(({ group, requests }) => [group[name], requests]));
    };
    expect(await groups("upstream")).toEqual({ fake: 4, null: 1 });
    expect(await groups("status")).toEqual({ ok: 4, "404": 1 });
    expect(await groups("user")).toEqual({ null: 5 });
    for (const query of ["status,model", "user,model", "status&tag=a"]) {
      expect(await admin(`/usage?group_by=${query}`).catch(String)).toContain("400");
    }
  });

  test("has rows for the largest groups, and one for all others", async () => {
    const path = "/usage?interval=total&top=1";
    const { data } = await admin<UsagePage>(`${path}&group_by=key`);
    expect(data.map(({ group, requests }) => [group.key === "(other)", requests])).toEqual([
      [true, 3],
      [false, 2],
    ]);
    expect(data[1]?.key_name).toBe("beta-key");
    const { data: targets } = await admin<UsagePage>(`${path}&group_by=target,model`);
    expect(targets.map(({ group }) => group)).toContainEqual({
      target: "(other)",
      model: "(other)",
    });
    expect(targets.reduce((sum, { requests }) => sum + requests, 0)).toBe(5);
    expect(await admin("/usage?top=99").catch(String)).toContain(
      "it must be a number from 1 to 50",
    );
  });

  test("has the requests of the gateway itself only if they are asked for", async () => {
    const names = {
      keyNames: { idOf: async (id: string) => id },
      endUserOf: String,
      keys: { idsCreatedBy: async () => [] },
    };
    const filter = (given: Parameters<typeof ownerFilter>[0]) =>
      ownerFilter(given, adminTokenActor, names);
    expect(await filter({})).toEqual({ exceptProject: "vexel-internal" });
    expect(await filter({ internal: "true" })).toEqual({});
    expect(await filter({ key: "vexel-internal" })).toEqual({ keyId: "vexel-internal" });
    expect(await filter({ project: "vexel-internal" })).toEqual({ project: "vexel-internal" });
  });

  test("has the days of a time zone, also as CSV", async () => {
    const at = new Date();
    const zone = at.getUTCHours() < 12 ? "Pacific/Kiritimati" : "Pacific/Pago_Pago";
    const { data } = await admin<UsagePage>(`/usage?interval=day&time_zone=${zone}`);
    expect(data).toHaveLength(1);
    const local = new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeStyle: "short" });
    expect(local.format(new Date(data[0]!.start))).toBe("00:00");
    const csv = await (await member(`/usage.csv?interval=day&time_zone=${zone}`)).text();
    expect(csv.split("\r\n")[1]).toStartWith(data[0]!.start);
    expect(await admin("/usage?time_zone=Mars/Base").catch(String)).toContain("Europe/Berlin");
  });

  test("of a member contains only the member's projects", async () => {
    for (const query of ["interval=total", "group_by=project", "group_by=key,model,target"]) {
      const { data } = await json<UsagePage>(member(`/usage?${query}`));
      expect(data.reduce((sum, { requests }) => sum + requests, 0)).toBe(1);
    }
    expect((await json<UsagePage>(member("/usage?project=beta"))).data).toEqual([]);
    const csv = await (await member("/usage.csv?group_by=project")).text();
    expect(csv).toContain("alpha");
    expect(csv).not.toContain("beta");
  });

  test("as CSV contains no formula that a spreadsheet would run", async () => {
    const csv = await (await member("/usage.csv?group_by=key")).text();
    const [head, row] = csv.split("\r\n");
    expect(head).toStartWith("start,key,key_name,requests,errors");
    expect(row).toContain(`,"'=alpha",1,0,`);
    for (const formula of ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", '"=1']) {
      expect(csvCell(formula)).toStartWith(`"'`);
    }
    expect(csvCell('a "b", c')).toBe('"a ""b"", c"');
    expect(csvCell(-1)).toBe("-1");
  });

  test("as CSV says that the days before the latest 400 are left out", async () => {
    const csvFrom = async (from: string, more = "") =>
      (await member(`/usage.csv?from=${from}&to=2024-12-31T00:00:00Z${more}`)).text();
    const note = "only the latest 400 days are in this file";
    expect(await csvFrom("2020-01-01T00:00:00Z")).toContain(note);
    expect(await csvFrom("2024-01-01T00:00:00Z")).not.toContain(note);
    expect(await csvFrom("2020-01-01T00:00:00Z", "&interval=month")).not.toContain(note);
  });

  test("of a database that cannot be reached is refused with storage_unavailable", async () => {
    const fail = async (): Promise<never> => {
      throw new GatewayError("storage_unavailable", "The database cannot be reached.");
    };
    const failing = readableQueries({ list: fail, usage: fail });
    const query = { from: 0, to: 1, interval: "day", groupBy: [], limit: 1 } as const;
    await expect(failing.usage(query)).rejects.toMatchObject({ kind: "storage_unavailable" });
  });

  test("has percentiles between the bounds of the histogram", () => {
    expect(latencyPercentile([], 0.5)).toBeNull();
    expect(latencyPercentile([0, 100], 0.5)).toBe(17.5);
    expect(latencyPercentile([50, 50], 0.95)).toBe(23.5);
    expect(latencyPercentile([...new Array<number>(12).fill(0), 3], 0.5)).toBe(60_000);
  });

  test("with a time that ends before it starts is refused", async () => {
    const query = "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z";
    expect(await admin(`/usage?${query}`).catch(String)).toContain("400");
  });
});

describe("the overview", () => {
  test("has totals, a time series, and the first-run guide", async () => {
    const overview = await admin<Overview>("/overview");
    expect(overview.totals).toMatchObject({ requests: 5, errors: 1, inputs: 5, images: 0 });
    expect(overview.totals.latency_p50_ms).toBeGreaterThan(0);
    expect(overview.series.reduce((sum, { requests }) => sum + requests, 0)).toBe(5);
    expect(overview.guide).toEqual({ has_key: true, has_request: true, has_upstream: true });
  });

  test("names keys that expire soon to users who may see their project, with a link to the fix", async () => {
    const { attention } = await admin<Overview>("/overview");
    expect(attention.flatMap(({ items }) => items)).toContainEqual({
      type: "key_expiring",
      severity: "warning",
      subject: "short-lived",
      detail: soon,
      link: "/keys",
    });
    const { attention: own, totals } = await json<Overview>(member("/overview"));
    expect(own.filter(({ type }) => type === "key_expiring")).toEqual([]);
    expect(totals.requests).toBe(1);
  });

  test("names an expiring key of a project, however many keys of other projects expire", async () => {
    const key = (name: string, project: string) =>
      `  - { name: ${name}, key: sk-${name}-0123456789abcdef, project: ${project}, expires: "${soon}" }`;
    const others = Array.from({ length: 30 }, (_, at) => key(`beta-${at}`, "beta"));
    const crowded = startReads({ more: [...others, key("own", "alpha")].join("\n") });
    const user = { name: "Dev", role: "developer", projects: ["alpha"] } as const;
    const get = await signInAs(crowded, user);
    const expiring = ({ attention }: Overview) =>
      attention.find(({ type }) => type === "key_expiring");
    expect(expiring(await json<Overview>(get("/overview")))).toMatchObject({
      count: 1,
      items: [{ subject: "own" }],
    });
    const all = expiring(await crowded.admin<Overview>("/overview"));
    expect(all).toMatchObject({ count: 31, severity: "warning" });
    expect(all?.items).toHaveLength(20);
    await crowded.close();
  });

  test("names an unhealthy target, and a budget that is nearly spent", async () => {
    const broken = startReads();
    broken.fake.script({ fail: "server-error" }, { times: Number.POSITIVE_INFINITY });
    // One body that fails again and again would count once.
    for (let request = 0; request < 8; request++)
      await broken.embed("none", { model: "other", input: `text ${request}` });
    broken.fake.clear();
    const long = "many words ".repeat(1000);
    for (let request = 0; request < 8; request++) await broken.embed("alpha", { input: long });
    const { attention } = await broken.admin<Overview>("/overview");
    const items = attention.flatMap((group) => group.items);
    expect(items.map(({ type, subject }) => [type, subject])).toEqual(
      expect.arrayContaining([
        ["target_unhealthy", "fake/text-embedding-3-large"],
        ["budget_nearly_exhausted", "alpha"],
      ]),
    );
    await broken.close();
  });
});

describe("budgets and limits", () => {
  test("show the amounts spent, reserved and left, and when the budget resets", async () => {
    const { data } = await admin<Page<ShownBudget>>("/budgets");
    const of = (name: string, period: string) =>
      data.find((each) => each.name === name && each.period === period)!;
    expect(data).toHaveLength(3);
    expect(of("beta", "day")).toMatchObject({ scope: "project", limit: 5, reserved: 0 });
    expect(of("beta", "day").spent).toBeGreaterThan(0);
    expect(of("beta", "day").left).toBeLessThan(5);
    expect(Date.parse(of("beta", "day").resets_at!)).toBeGreaterThan(Date.now() - 1000);
    expect(of("=alpha", "total").resets_at).toBeNull();
  });

  test("show the used part of the limits of projects, models and keys", async () => {
    const { data } = await admin<Page<ShownLimit>>("/limits");
    const shown = data.map(({ scope, name, rate, limit }) => [scope, name, rate, limit]);
    expect(shown).toEqual([
      ["project", "alpha", "requests", 600],
      ["model", "vectors", "requests", 1000],
      ["key", "=alpha", "concurrent", 7],
    ]);
    expect(data[0]!.used + data[0]!.left).toBeCloseTo(600);
    const found = await admin<Page<ShownLimit>>("/limits?search=ALPHA");
    expect(found.data.map(({ name }) => name)).toEqual(["alpha", "=alpha"]);
    expect((await admin<Page<ShownBudget>>("/budgets?search=none")).data).toEqual([]);
  });
});
