/** The links in a response that can be replayed work as long as the stored response. */

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { createLinkStores } from "../../server/images/image-links.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";
import type { Target } from "../../server/upstream/contract.ts";
import { arrange, grayImage } from "../conformance/arrange.ts";
import { startGateway, testKey } from "../harness.ts";
import { until } from "../until.ts";
import { startLinkServer } from "./image-links-fixture.ts";

const settings = { VEXEL_IMAGE_TTL: "10", VEXEL_RESPONSE_TTL: "3600" };
const { fake, gateway, close } = arrange({ settings });
beforeEach(() => fake.clear());
afterAll(() => close());

const authorization = `Bearer ${testKey}`;
const generate = (headers: Record<string, string> = {}, signal?: AbortSignal) =>
  fetch(`${gateway.url}/v1/images/generations`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "gpt-image-2", prompt: "a boat", response_format: "url" }),
    ...(signal && { signal }),
  });
const linkIn = async (response: Response): Promise<URL> => {
  const { data } = (await response.json()) as { data: { url: string }[] };
  return new URL(data[0]?.url ?? "");
};
/** In seconds, from now on. */
const lastsFor = (link: URL): number =>
  Number(link.searchParams.get("expires")) - Math.floor(Date.now() / 1000);

describe("a link of the gateway", () => {
  test("lasts as long as the stored response of its Idempotency-Key, and at least as long as configured", async () => {
    const key = { "idempotency-key": crypto.randomUUID() };
    const link = await linkIn(await generate(key));
    expect(lastsFor(link)).toBeGreaterThan(3600);
    expect(lastsFor(link)).toBeLessThanOrEqual(3611);
    expect((await linkIn(await generate(key))).href).toBe(link.href);
    expect((await fetch(link)).status).toBe(200);
  });

  test("lasts as long as the stored response of a client that disconnected", async () => {
    const held = Promise.withResolvers<void>();
    fake.script({ until: held.promise });
    const disconnect = new AbortController();
    const id = crypto.randomUUID();
    const left = generate({ "x-client-request-id": id }, disconnect.signal).catch(
      () => "ourselves",
    );
    await until(() => fake.requests.length === 1);
    disconnect.abort();
    await left;
    const getResult = () =>
      fetch(`${gateway.url}/v1/images/results/${id}`, { headers: { authorization } });
    while ((await getResult()).status !== 202) await Bun.sleep(5);
    held.resolve();
    let response = await getResult();
    for (; response.status === 202; response = await getResult()) await Bun.sleep(5);
    expect(lastsFor(await linkIn(response))).toBeGreaterThan(3600);
  });

  test("in any other response lasts as long as configured", async () => {
    expect(lastsFor(await linkIn(await generate()))).toBeLessThanOrEqual(11);
  });

  test("serves its image until it expires", async () => {
    await using server = startLinkServer({ ttlMs: 60_000 });
    const link = await server.links.store(
      { kind: "bytes", bytes: grayImage("late") },
      server.url,
      "replay",
    );
    server.now += 650_000;
    await server.links.sweep();
    expect((await server.get(link)).status).toBe(200);
    server.now += 11_000;
    expect((await server.get(link)).status).toBe(404);
  });
});

describe("an upstream's link", () => {
  const theirs = "https://images.example/a.png?expires-in-a-minute";
  const again = {
    target: { id: "t" } as unknown as Target,
    signal: new AbortController().signal,
    temp: noRequestTemp,
  };
  const tools = (bytes: () => Uint8Array) => {
    const fetched: string[] = [];
    const linkStores = createLinkStores({
      store: async (_, publicUrl, lifetime) => `${publicUrl}/ours-${lifetime}`,
      download: async (url) => {
        fetched.push(url);
        return { kind: "bytes", bytes: bytes() };
      },
    });
    return { fetched, linkStores };
  };

  test("becomes a link of the gateway in a response that can be replayed", async () => {
    const { linkStores } = tools(() => grayImage("theirs"));
    expect(await linkStores.lasting(again).toLastingLink(theirs, "http://here")).toBe(
      "http://here/ours-replay",
    );
  });

  test("is passed on unchanged in any other response, and nothing is downloaded", async () => {
    const { linkStores, fetched } = tools(() => grayImage("theirs"));
    expect(await linkStores.plain.toLastingLink(theirs, "http://here")).toBe(theirs);
    expect(fetched).toEqual([]);
  });

  test("that is a data: URL is passed on unchanged", async () => {
    const { linkStores, fetched } = tools(() => grayImage("theirs"));
    const inline = "data:image/png;base64,AAAA";
    expect(await linkStores.lasting(again).toLastingLink(inline, "http://here")).toBe(inline);
    expect(fetched).toEqual([]);
  });

  test("is passed on unchanged if the image behind it is truncated", async () => {
    const { linkStores } = tools(() => grayImage("theirs").subarray(0, 60));
    expect(await linkStores.lasting(again).toLastingLink(theirs, "http://here")).toBe(theirs);
  });

  test("that is unreachable is passed on unchanged, and the other links are not tried", async () => {
    const { linkStores, fetched } = tools(() => {
      throw new GatewayError("upstream_unreachable", "no way there");
    });
    const links = linkStores.lasting(again);
    expect(await links.toLastingLink(theirs, "http://here")).toBe(theirs);
    expect(await links.toLastingLink(`${theirs}-2`, "http://here")).toBe(`${theirs}-2`);
    expect(fetched).toEqual([theirs]);
  });

  test("that returns an error does not fail the response", async () => {
    const nowhere = "https://images.invalid/a.png";
    const upstream = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => Response.json({ created: 1, data: [{ url: nowhere }] }),
    });
    const yaml = `
upstreams: [{ id: links, kind: openai-compatible, baseUrl: "http://127.0.0.1:${upstream.port}/v1" }]
models: [{ id: linker, kind: image, targets: [{ upstream: links, model: image-model }] }]
keys: [{ name: test, key: ${testKey} }]
`;
    const other = startGateway({ yaml });
    const response = await other.post(
      "/v1/images/generations",
      { model: "linker", prompt: "a boat" },
      { "idempotency-key": crypto.randomUUID() },
    );
    expect((await linkIn(response)).href).toBe(nowhere);
    await other.close();
    await upstream.stop(true);
  });
});
