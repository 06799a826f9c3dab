/** Events and webhooks in the admin API, and the admin token that opens it. */
import { afterEach, describe, expect, test } from "bun:test";
import type { Page, ShownEvent } from "../../contract/admin.ts";
import { asOperator, emitEvent, startWithAdmin, webhookYaml } from "./webhooks-fixture.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

function watched(yaml = "") {
  const gateway = startWithAdmin({ yaml });
  open.push(gateway);
  return gateway;
}

const _routes = [
  ["GET", "/admin/api/targets"],
  ["GET", "/admin/api/events"],
  ["GET", "/admin/api/webhooks"],
  ["POST", "/admin/api/webhooks/wh_0/test"],
] as const;

interface Refusal {
  readonly error: { readonly param: string };
}

describe("GET /admin/api/events", () => {
  test("lists events newest first, page by page, without duplicates", async () => {
    const gateway = watched();
    for (let i = 0; i < 25; i++) emitEvent(gateway, i);
    const received: unknown[] = [];
    let cursor = "";
    for (let pages = 0; pages < 4; pages++) {
      const page = await gateway.getAdmin<Page<ShownEvent>>(`/admin/api/events?limit=7${cursor}`);
      received.push(...page.data.map(({ data }) => data.changes));
      expect(page.next_cursor).toBe(pages < 3 ? page.data.at(-1)!.id : null);
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(received).toEqual(Array.from({ length: 25 }, (_, i) => String(24 - i)));
  });

  test("is empty without events", async () => {
    const page = await watched().getAdmin("/admin/api/events");
    expect(page).toEqual({ object: "list", data: [], next_cursor: null });
  });

  test("filters by type or by a glob pattern", async () => {
    const gateway = watched();
    emitEvent(gateway, 0);
    gateway.events.emit({ type: "key.revoked", data: { id: "k", name: "k" } });
    gateway.events.emit({ type: "config.rejected", data: { problems: ["p"] } });
    const types = async (query: string) =>
      (await gateway.getAdmin<Page<ShownEvent>>(`/admin/api/events?type=${query}`)).data.map(
        ({ type }) => type,
      );
    expect(await types("config.*")).toEqual(["config.rejected", "config.reloaded"]);
    expect(await types("key.revoked")).toEqual(["key.revoked"]);
    expect(await types("budget.*")).toEqual([]);
    expect(await types("*")).toHaveLength(3);
  });

  test("refuses invalid parameters and names them", async () => {
    const gateway = watched();
    emitEvent(gateway, 0);
    const bad = [
      ["limit", "0"],
      ["limit", "201"],
      ["limit", "-1"],
      ["limit", "1.5"],
      ["limit", "many"],
      ["type", "budgets"],
      ["cursor", "evt_1"],
      ["cursor", `evt_${"0".repeat(32)}`],
    ] as const;
    for (const [param, value] of bad) {
      const response = await asOperator(gateway.url, `/admin/api/events?${param}=${value}`);
      expect(`${param}=${value}: ${response.status}`).toBe(`${param}=${value}: 400`);
      expect(((await response.json()) as Refusal).error.param).toBe(param);
    }
  });

  test("is not cacheable, and shows no token of a webhook URL", async () => {
    const gateway = watched(webhookYaml({ url: "http://127.0.0.1:9/a?token=t" }));
    const page = await gateway.getAdmin<{ data: { url: string }[] }>("/admin/api/webhooks");
    expect(page.data.map(({ url }) => url)).toEqual(["http://127.0.0.1:9/a?…"]);
    const headers = (await asOperator(gateway.url, "/admin/api/webhooks")).headers;
    expect(headers.get("cache-control")).toBe("no-store");
  });
});
