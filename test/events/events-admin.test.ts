/** The admin API: off by default, for the admin key only, with paginated lists. */
import { afterEach, describe, expect, test } from "bun:test";
import { readSettings, SettingsError } from "../../server/settings.ts";
import { startGateway, testKey } from "../harness.ts";
import {
  adminKey,
  asOperator,
  type Page,
  startWithAdmin,
  tell,
  webhookYaml,
} from "./webhooks-fixture.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

function watched(yaml = "") {
  const gateway = startWithAdmin({ yaml });
  open.push(gateway);
  return gateway;
}

const routes = [
  ["GET", "/admin/targets"],
  ["GET", "/admin/events"],
  ["GET", "/admin/webhooks"],
  ["POST", "/admin/webhooks/wh_0/test"],
] as const;

interface Refusal {
  readonly error: {
    readonly message: string;
    readonly code: string | null;
    readonly param: string;
  };
}

describe("the admin API", () => {
  test("responds with 404 unless VEXEL_ADMIN_KEY is set, whatever key is sent", async () => {
    const gateway = startGateway({ yaml: `keys: [{ name: test, key: ${testKey} }]` });
    open.push(gateway);
    for (const [method, path] of routes) {
      for (const key of [adminKey, testKey, ""]) {
        const headers = { authorization: `Bearer ${key}` };
        const response = await fetch(`${gateway.url}${path}`, { method, headers });
        expect(response.status).toBe(404);
        expect(((await response.json()) as Refusal).error.code).toBe("unknown_url");
      }
    }
  });

  test("accepts the admin key and no other", async () => {
    const gateway = watched();
    const invalidKeys = [testKey, `${adminKey}x`, adminKey.slice(0, -1), adminKey.toUpperCase()];
    for (const [method, path] of routes) {
      const url = `${gateway.url}${path}`;
      expect((await fetch(url, { method })).status).toBe(401);
      expect((await fetch(url, { method, headers: { "api-key": adminKey } })).status).toBe(401);
      for (const key of invalidKeys) {
        const headers = { authorization: `Bearer ${key}` };
        const response = await fetch(url, { method, headers });
        expect(response.status).toBe(401);
        const text = await response.text();
        expect(text).toContain("invalid_api_key");
        expect(text).not.toContain(key);
      }
    }
    expect((await asOperator(gateway.url, "/admin/events")).status).toBe(200);
    expect((await asOperator(gateway.url, "/admin/webhooks")).status).toBe(200);
  });

  test("does not accept the admin key as an API key", async () => {
    const gateway = watched();
    expect((await asOperator(gateway.url, "/v1/models")).status).toBe(401);
  });

  test("never shows the admin key, neither in the log nor when the setting is refused", async () => {
    const gateway = watched();
    for (const [method, path] of routes) await asOperator(gateway.url, path, method);
    await asOperator(gateway.url, "/admin/nothing");
    expect(gateway.log()).toContain('"endpoint":"adminEvents"');
    expect(gateway.log()).not.toContain(adminKey);
    for (const bad of ["too-short-secret".slice(1), "with a space in the middle"]) {
      const read = () => readSettings({ VEXEL_ADMIN_KEY: bad });
      expect(read).toThrow(SettingsError);
      expect(read).toThrow(/VEXEL_ADMIN_KEY/);
      expect(read).not.toThrow(bad);
    }
  });
});

describe("GET /admin/events", () => {
  test("lists events newest first, page by page, without duplicates", async () => {
    const gateway = watched();
    for (let i = 0; i < 25; i++) tell(gateway, i);
    const received: unknown[] = [];
    let after = "";
    for (let pages = 0; pages < 4; pages++) {
      const page = await gateway.getAdmin<Page>(`/admin/events?limit=7${after}`);
      received.push(...page.data.map(({ data }) => data.what));
      expect(page.last_id).toBe(page.data.at(-1)!.id);
      expect(page.has_more).toBe(pages < 3);
      after = `&after=${page.last_id}`;
    }
    expect(received).toEqual(Array.from({ length: 25 }, (_, i) => String(24 - i)));
  });

  test("is empty without events", async () => {
    const page = await watched().getAdmin("/admin/events");
    expect(page).toEqual({ object: "list", data: [], last_id: null, has_more: false });
  });

  test("filters by type or by a glob pattern", async () => {
    const gateway = watched();
    tell(gateway, 0);
    gateway.events.emit({ type: "key.revoked", data: { id: "k", name: "k" } });
    gateway.events.emit({ type: "config.rejected", data: { problems: ["p"] } });
    const types = async (query: string) =>
      (await gateway.getAdmin<Page>(`/admin/events?type=${query}`)).data.map(({ type }) => type);
    expect(await types("config.*")).toEqual(["config.rejected", "config.reloaded"]);
    expect(await types("key.revoked")).toEqual(["key.revoked"]);
    expect(await types("budget.*")).toEqual([]);
    expect(await types("*")).toHaveLength(3);
  });

  test("refuses invalid parameters and names them", async () => {
    const gateway = watched();
    tell(gateway, 0);
    const bad = [
      ["limit", "0"],
      ["limit", "101"],
      ["limit", "-1"],
      ["limit", "1.5"],
      ["limit", "many"],
      ["type", "budgets"],
      ["after", "evt_1"],
      ["after", `evt_${"0".repeat(32)}`],
    ] as const;
    for (const [param, value] of bad) {
      const response = await asOperator(gateway.url, `/admin/events?${param}=${value}`);
      expect(`${param}=${value}: ${response.status}`).toBe(`${param}=${value}: 400`);
      expect(((await response.json()) as Refusal).error.param).toBe(param);
    }
  });

  test("is not cacheable, and shows no token of a webhook URL", async () => {
    const gateway = watched(webhookYaml({ url: "http://127.0.0.1:9/a?token=t" }));
    const page = await gateway.getAdmin<{ data: { url: string }[] }>("/admin/webhooks");
    expect(page.data.map(({ url }) => url)).toEqual(["http://127.0.0.1:9/a?…"]);
    const headers = (await asOperator(gateway.url, "/admin/webhooks")).headers;
    expect(headers.get("cache-control")).toBe("no-store");
  });
});
