/** URL schemes are case-insensitive (RFC 3986, section 3.1), wherever a URL is read. */
import { describe, expect, test } from "bun:test";
import { createLinkStores } from "../../server/images/image-links.ts";
import { checkSources } from "../../server/images/plan/plan-options.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { isDataUrl, isHttpUrl, isImageUrl, splitInlineImage } from "../../server/lib/url-scheme.ts";
import { verifyImages } from "../../server/pipeline/verify-response.ts";
import { parseBlobUrl } from "../../server/storage/s3/blob-url.ts";
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";
import { redact } from "../../server/upstream/adapters/wire/error-body.ts";
import { bareBase64 } from "../../server/upstream/adapters/wire/image-list.ts";
import type { EditQuery, Target } from "../../server/upstream/contract.ts";
import { HttpClient } from "../../server/upstream/transport/transport.ts";

const inline = "DATA:image/PNG;Base64,AAAA";
const link = "HTTPS://example.com/a.png";

test("each test of a scheme accepts upper case", () => {
  expect([isHttpUrl(link), isHttpUrl(inline), isHttpUrl("ftp://example.com")]).toEqual([
    true,
    false,
    false,
  ]);
  expect([isDataUrl(inline), isDataUrl(link)]).toEqual([true, false]);
  expect([isImageUrl(inline), isImageUrl(link), isImageUrl("DATA:text/plain,a")]).toEqual([
    true,
    true,
    false,
  ]);
  expect(splitInlineImage(inline)).toEqual({ type: "image/png", base64: "AAAA" });
  expect(splitInlineImage(link)).toBeUndefined();
});

describe("a data URL in upper case", () => {
  test("is not a link: a model that takes only links refuses it before a target is called", () => {
    const query = { images: [{ kind: "url", url: inline }], files: [] } as unknown as EditQuery;
    const edits = { maxImages: 1, linksOnly: true } as const;
    expect(() => checkSources(query, edits, "photon")).toThrow(GatewayError);
    const linked = { ...query, images: [{ kind: "url", url: link }] } as EditQuery;
    expect(() => checkSources(linked, edits, "photon")).not.toThrow();
  });

  test("never expires, so it is not downloaded", async () => {
    const { lasting } = createLinkStores({
      store: async () => "http://gateway/stored",
      download: () => Promise.reject(new Error("downloaded")),
    });
    const { signal } = new AbortController();
    const links = lasting({ target: {} as Target, signal, temp: noRequestTemp });
    expect(await links.toLastingLink(inline, "http://gateway")).toBe(inline);
  });

  test("has a prefix, which is removed from base64", () => {
    expect(bareBase64(inline)).toBe("AAAA");
  });
});

describe("a link in upper case", () => {
  test.each([link, inline])("is a valid image of a response: %s", (url) => {
    const image = { kind: "url", url } as const;
    const response = { kind: "buffered", results: [{ image }], metadata: {} } as const;
    expect(verifyImages(response)).toBe(response);
  });

  test("is redacted from an upstream's error message", () => {
    const target = { model: "m", upstream: { headers: {} } } as unknown as Target;
    expect(redact("see HTTP://box/secret", { target, model: "m" })).toBe("see (link)");
  });

  test("is a valid endpoint of an object store", () => {
    const { endpoint } = parseBlobUrl("s3://k:s@bucket?endpoint=HTTPS://store", {});
    expect(endpoint).toBe("HTTPS://store");
  });

  test("is sent over the same connections", () => {
    const request = { headers: {}, body: "", streams: true } as const;
    expect(HttpClient.supports({ ...request, url: "HTTP://box/v1" })).toBe(true);
    expect(HttpClient.supports({ ...request, url: "HTTPS://box/v1" })).toBe(false);
  });
});
