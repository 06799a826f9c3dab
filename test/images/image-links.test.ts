/** A signed image link works for every client that has it, unmodified and until it expires, and in no other way. */
import { describe, expect, test } from "bun:test";
import { expectError } from "../http/gateway-fixture.ts";
import { largePng, png } from "../upstream/download-fixture.ts";
import { startLinkServer } from "./image-links-fixture.ts";

const small = { kind: "bytes", bytes: png } as const;
const large = { kind: "bytes", bytes: largePng } as const;

/** The same link with one member of its query changed. */
function changed(link: string, name: string, change: (value: string) => string): string {
  const url = new URL(link);
  url.searchParams.set(name, change(url.searchParams.get(name) ?? ""));
  return url.href;
}

const flipped = (text: string): string => (text.startsWith("A") ? "B" : "A") + text.slice(1);

describe("a link", () => {
  test("serves the image without an API key, cacheable as long as the link works", async () => {
    await using server = startLinkServer({ ttlMs: 600_000 });
    server.now = Math.ceil(server.now / 1000) * 1000;
    const link = await server.links.store(large, server.url);
    expect(link).toStartWith(`${server.url}/files/images/`);
    server.now += 100_000;
    const response = await server.get(link);
    expect(response.status).toBe(200);
    expect(largePng.equals(await response.bytes())).toBeTrue();
    const { headers } = response;
    expect(headers.get("content-type")).toBe("image/png");
    expect(headers.get("content-length")).toBe(String(largePng.length));
    expect(headers.get("cache-control")).toBe("private, max-age=500, immutable");
    expect(headers.get("accept-ranges")).toBe("bytes");
    expect(headers.get("content-disposition")).toMatch(/^inline; filename="image-[\w-]{8}\.png"$/);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(headers.get("content-security-policy")).toContain("sandbox");
  });

  test("responds to HEAD with the same headers, without the image", async () => {
    await using server = startLinkServer();
    const link = await server.links.store(small, server.url);
    const head = await server.get(link, { range: "bytes=0-3" }, "HEAD");
    const got = await server.get(link);
    expect(head.status).toBe(200);
    expect(await head.text()).toBe("");
    for (const name of ["content-type", "content-length", "etag", "accept-ranges"]) {
      expect(head.headers.get(name)).toBe(got.headers.get(name));
    }
  });

  test("has the media type of the image", async () => {
    await using server = startLinkServer();
    const kinds: readonly [string, Uint8Array][] = [
      ["image/jpeg", Buffer.from([0xff, 0xd8, 0xff, 0xe0])],
      ["image/webp", Buffer.from("RIFF    WEBPVP8 ")],
      ["image/gif", Buffer.from("GIF89a    ")],
      ["image/avif", Buffer.from("\0\0\0 ftypavif")],
      ["image/svg+xml", Buffer.from("<svg xmlns='x'/>")],
    ];
    for (const [type, bytes] of kinds) {
      const response = await server.get(
        await server.links.store({ kind: "bytes", bytes }, server.url),
      );
      expect(response.headers.get("content-type")).toBe(type);
      expect(Buffer.from(bytes).equals(await response.bytes())).toBeTrue();
    }
  });

  test("still works after a restart of the gateway", async () => {
    await using server = startLinkServer();
    const before = await server.links.store(small, server.url);
    const after = await server.again().store(small, server.url);
    expect((await server.get(before)).status).toBe(200);
    expect((await server.get(after)).status).toBe(200);
  });
});

describe("no image is served", () => {
  const outsider = async (alter: (link: string, other: string) => string): Promise<void> => {
    await using server = startLinkServer();
    const link = await server.links.store(small, server.url);
    const other = await server.links.store(small, server.url);
    expect((await server.get(link)).status).toBe(200);
    const message = await expectError(await server.get(alter(link, other)), "unknown_url");
    expect(message).toBe("This image does not exist, or its link has expired.");
  };

  test("for the name alone", () => outsider((link) => link.replace(/\?.*/, "")));
  test("without the signature", () => outsider((link) => link.replace(/&signature.*/, "")));
  test("without the expiry", () => outsider((link) => link.replace(/expires=\d+&/, "")));
  test("with a signature that is wrong in a bit", () =>
    outsider((link) => changed(link, "signature", flipped)));
  test("with half a signature", () =>
    outsider((link) => changed(link, "signature", (text) => text.slice(0, 20))));
  test("with a signature that is too long", () =>
    outsider((link) => changed(link, "signature", (text) => `${text}AAAA`)));
  test.each(["!!!!", "=", "%20", "%0A"])("with characters after its signature: %s", (signs) =>
    outsider((link) => `${link}${signs}`),
  );
  test("with a signature in the other alphabet of base64", async () => {
    // Several images: not every signature has a character that differs between the two alphabets.
    for (let at = 0; at < 8; at++) {
      await outsider((link) =>
        changed(link, "signature", (text) => `${text.replaceAll("-", "+").replaceAll("_", "/")}=`),
      );
    }
  });
  test("with a later expiry", () =>
    outsider((link) => changed(link, "expires", (seconds) => String(Number(seconds) + 1))));
  test("with the expiry in another spelling", () =>
    outsider((link) => changed(link, "expires", (seconds) => `0${seconds}`)));
  test("with the signature of another image", () =>
    outsider((link, other) => link.replace(/\?.*/, new URL(other).search)));
  test("with a later `expires` added before the signed one", () =>
    outsider((link) => link.replace("?", "?expires=99999999999&")));

  test("after it has expired, to the second", async () => {
    await using server = startLinkServer({ ttlMs: 60_000 });
    server.now = Math.ceil(server.now / 1000) * 1000;
    const link = await server.links.store(small, server.url);
    server.now += 59_999;
    expect((await server.get(link)).status).toBe(200);
    server.now += 1;
    await expectError(await server.get(link), "unknown_url");
    await expectError(await server.get(link, { "if-none-match": "*" }), "unknown_url");
    expect((await server.get(link, {}, "HEAD")).status).toBe(404);
  });

  test("by a gateway with another secret", async () => {
    await using server = startLinkServer();
    await using elsewhere = startLinkServer();
    const link = await server.links.store(small, elsewhere.url);
    await expectError(await elsewhere.get(link), "unknown_url");
  });
});

describe("a range of an image", () => {
  const size = largePng.length;
  test.each([
    ["bytes=0-0", 0, 1],
    ["bytes=100-199", 100, 200],
    [`bytes=${size - 1}-`, size - 1, size],
    ["bytes=600000-", 600_000, size],
    ["bytes=-5", size - 5, size],
    [`bytes=-${size * 2}`, 0, size],
    [`bytes=10-${size * 2}`, 10, size],
    ["BYTES= 3 - 4", 3, 5],
  ])("%s", async (range, from, to) => {
    await using server = startLinkServer();
    const response = await server.get(await server.links.store(large, server.url), { range });
    expect(response.status).toBe(206);
    expect(response.headers.get("content-range")).toBe(`bytes ${from}-${to - 1}/${size}`);
    expect(response.headers.get("content-length")).toBe(String(to - from));
    expect(largePng.subarray(from, to).equals(await response.bytes())).toBeTrue();
  });

  test.each([[`bytes=${size}-`], [`bytes=${size}-${size + 9}`], ["bytes=-0"]])(
    "%s is beyond the image and gets 416",
    async (range) => {
      await using server = startLinkServer();
      const response = await server.get(await server.links.store(large, server.url), { range });
      expect(response.status).toBe(416);
      expect(response.headers.get("content-range")).toBe(`bytes */${size}`);
      const { error } = (await response.json()) as { error: Record<string, unknown> };
      expect(error).toMatchObject({ param: "range", type: "invalid_request_error" });
    },
  );

  test.each([["bytes=0-1,4-5"], ["bytes=5-2"], ["bytes=x-2"], ["bytes=-"], ["lines=1-2"], ["0-1"]])(
    "%s is not a valid range and gets the whole image",
    async (range) => {
      await using server = startLinkServer();
      const response = await server.get(await server.links.store(small, server.url), { range });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-range")).toBeNull();
      expect(png.equals(await response.bytes())).toBeTrue();
    },
  );

  test("is served if the image is unchanged (If-Range), otherwise the whole image", async () => {
    await using server = startLinkServer();
    const link = await server.links.store(small, server.url);
    const etag = (await server.get(link)).headers.get("etag")!;
    const range = "bytes=1-3";
    expect((await server.get(link, { range, "if-range": etag })).status).toBe(206);
    expect((await server.get(link, { range, "if-range": '"another"' })).status).toBe(200);
  });
});

describe("an image in a browser's cache", () => {
  test("is not sent again", async () => {
    await using server = startLinkServer();
    const link = await server.links.store(small, server.url);
    const etag = (await server.get(link)).headers.get("etag")!;
    expect(etag).toMatch(/^"[\w-]+"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const response = await server.get(link, { "if-none-match": known, range: "bytes=0-1" });
      expect(response.status).toBe(304);
      expect(await response.text()).toBe("");
      expect(response.headers.get("etag")).toBe(etag);
      expect(response.headers.get("cache-control")).toStartWith("private, max-age=");
    }
  });

  test("is sent if it is another", async () => {
    await using server = startLinkServer();
    const [one, two] = [
      await server.links.store(small, server.url),
      await server.links.store(small, server.url),
    ];
    const etag = (await server.get(one)).headers.get("etag")!;
    const response = await server.get(two, { "if-none-match": etag });
    expect(response.status).toBe(200);
    expect(response.headers.get("etag")).not.toBe(etag);
  });
});
