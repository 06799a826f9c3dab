/** The OpenAPI documents and the files of the console are made once, and served from memory. */
import { afterAll, describe, expect, spyOn, test } from "bun:test";
import { startGatewayWithFake } from "./gateway-fixture.ts";

const adminToken = "admin-token-0123456789";
const edge = startGatewayWithFake({ settings: { VEXEL_ADMIN_TOKEN: adminToken } });
const { url } = edge.gateway;
afterAll(() => edge.close());

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${url}${path}`, {
    headers: { authorization: `Bearer ${adminToken}`, "accept-encoding": "identity", ...headers },
    // The test sees the bytes as they were sent.
    decompress: false,
  });

const page = await (await get("/console")).text();
// The last script is the console; a small one sets its theme before.
const script = [...page.matchAll(/src="([^"]+\.js)"/g)].at(-1)?.[1] ?? "";

describe.each(["/openapi.json", "/admin/api/openapi.json", script])("GET %s", (path) => {
  test("is the same with and without compression", async () => {
    const plain = await get(path);
    expect([plain.status, plain.headers.get("content-encoding")]).toEqual([200, null]);
    const gzipped = await get(path, { "accept-encoding": "br;q=1.0, gzip;q=0.8, *;q=0.1" });
    expect(gzipped.headers.get("content-encoding")).toBe("gzip");
    const [bytes, compressed] = [await plain.bytes(), await gzipped.bytes()];
    expect(compressed.length).toBeLessThan(bytes.length / 2);
    expect(Bun.gunzipSync(new Uint8Array(compressed))).toEqual(new Uint8Array(bytes));
    for (const { headers } of [plain, gzipped]) {
      expect(headers.get("vary")).toContain("accept-encoding");
    }
  });

  test("is not compressed for a client that refuses gzip", async () => {
    for (const accepted of ["gzip;q=0", "gzip; q=0.0, br", "deflate", "xgzip"]) {
      const { headers } = await get(path, { "accept-encoding": accepted });
      expect([accepted, headers.get("content-encoding")]).toEqual([accepted, null]);
    }
  });

  test("is not sent again to a client that has it", async () => {
    const etag = (await get(path)).headers.get("etag") ?? "";
    for (const known of [etag, `"other", ${etag}`, "*"]) {
      const unchanged = await get(path, { "if-none-match": known });
      expect([unchanged.status, await unchanged.text()]).toEqual([304, ""]);
      expect(unchanged.headers.get("etag")).toBe(etag);
    }
    expect((await get(path, { "if-none-match": '"other"' })).status).toBe(200);
  });

  test("is compressed and decompressed once, whatever host the client names", async () => {
    await get(path);
    const [gzip, gunzip] = [spyOn(Bun, "gzipSync"), spyOn(Bun, "gunzipSync")];
    const stringify = spyOn(JSON, "stringify");
    try {
      for (const coding of ["gzip", "identity"]) {
        for (let at = 0; at < 5; at++) {
          await get(path, { "accept-encoding": coding, host: `host-${at}.test` });
        }
      }
      const documents = stringify.mock.results.filter(({ value }) => String(value).length > 5000);
      expect([gzip.mock.calls, gunzip.mock.calls, documents]).toEqual([[], [], []]);
    } finally {
      for (const spy of [gzip, gunzip, stringify]) spy.mockRestore();
    }
  });
});
