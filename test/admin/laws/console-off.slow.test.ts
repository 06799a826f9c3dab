/** VEXEL_CONSOLE=off removes the console and its sessions. The admin token still opens the admin API. */
import { afterEach, expect, test } from "bun:test";
import { startGateway, type TestGateway, testKey } from "../../harness.ts";
import { filesBelow, textOf } from "../../laws/tree.ts";

const token = "admin-0123456789abcdef";
const open: TestGateway[] = [];
afterEach(async () => {
  for (const gateway of open.splice(0)) await gateway.close();
});

function start(settings: Readonly<Record<string, string>>): string {
  const gateway = startGateway({ yaml: `keys: [{ name: test, key: ${testKey} }]\n`, settings });
  open.push(gateway);
  return gateway.url;
}

const statusOf = async (url: string, init: RequestInit = {}): Promise<number> =>
  (await fetch(url, init)).status;

test("with the console off there are no pages, no sessions and no users", async () => {
  const url = start({ VEXEL_CONSOLE: "off", VEXEL_ADMIN_TOKEN: token });
  const headers = { authorization: `Bearer ${token}` };
  expect(await statusOf(`${url}/console`)).toBe(404);
  expect(await statusOf(`${url}/console/keys`)).toBe(404);
  for (const path of ["/session", "/session/options", "/session/oidc", "/users"]) {
    expect([path, await statusOf(`${url}/admin/api${path}`, { headers })]).toEqual([path, 404]);
  }
  for (const path of ["/session", "/session/setup"]) {
    const status = await statusOf(`${url}/admin/api${path}`, { method: "POST", body: "{}" });
    expect([path, status]).toEqual([path, 404]);
  }
  expect(await statusOf(`${url}/admin/api/keys`, { headers })).toBe(200);
  expect(await statusOf(`${url}/admin/api/keys`)).toBe(401);
  const cookie = { cookie: "vexel_session=anything" };
  expect(await statusOf(`${url}/admin/api/keys`, { headers: cookie })).toBe(401);
});

test("with the console off and without an admin token there is no admin API, whatever key is sent", async () => {
  const url = start({ VEXEL_CONSOLE: "off" });
  for (const path of ["/console", "/admin/api/keys", "/admin/api/session/options"]) {
    for (const key of [token, testKey, ""]) {
      const headers = { authorization: `Bearer ${key}` };
      const response = await fetch(`${url}${path}`, { headers });
      expect([path, response.status]).toEqual([path, 404]);
      expect(await response.text()).toContain('"code":"unknown_url"');
    }
  }
});

test("if no admin token is set, an empty token and the text undefined are refused", async () => {
  const url = start({ VEXEL_CONSOLE: "on" });
  for (const authorization of ["Bearer ", "Bearer undefined", "Bearer null", "Bearer"]) {
    const status = await statusOf(`${url}/admin/api/keys`, { headers: { authorization } });
    expect([authorization, status]).toEqual([authorization, 401]);
  }
});

test("the console shows texts as texts: no markup from values, no script address, no inline script", () => {
  const files = filesBelow("console").filter((file) => /\.tsx?$/.test(file));
  expect(files.length).toBeGreaterThan(50);
  const forbidden =
    /dangerouslySetInnerHTML|\.innerHTML|\.outerHTML|insertAdjacentHTML|document\.write|srcDoc|\beval\(|new Function\(|["'`]javascript:/;
  const offending = files.filter((file) => forbidden.test(textOf(file)));
  expect(offending).toEqual([]);
  expect(textOf("console/src/index.html")).not.toMatch(
    /<script(?![^>]*\bsrc=)|\son\w+=|<style|style=/,
  );
});
