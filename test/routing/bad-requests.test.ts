/** A server that answers a bad request with status 500, as if it had failed itself, is not taken from other clients. */
import { afterEach, describe, expect, test } from "bun:test";
import { type RecordedRequest, startFake } from "../fake-upstream.ts";
import { startGateway, testKey } from "../harness.ts";
import { createImage } from "../image-vendors/test-images.ts";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

const keyOf = (client: number): string =>
  client === 0 ? testKey : `sk-client-${client}-0123456789`;

function arrange({ upstreams = 1, clients = 2, kind = "openai" } = {}) {
  const fakes = Array.from({ length: upstreams }, () => startFake());
  const targets = (model: string) =>
    `[${fakes.map((_, at) => `{ upstream: u${at}, model: ${model} }`).join(", ")}]`;
  const gateway = startGateway({
    yaml: `
upstreams:
${fakes.map(({ url }, at) => `  - { id: u${at}, kind: ${kind}, baseUrl: "${url}", apiKey: sk-fake }`).join("\n")}
models:
  - { id: m, kind: embedding, targets: ${targets("text-embedding-3-small")} }
  - { id: i, kind: image, targets: ${targets("gpt-image-1.5")} }
keys:
${Array.from({ length: clients }, (_, at) => `  - { name: c${at}, key: ${keyOf(at)} }`).join("\n")}
`,
  });
  open.push(...fakes.map((fake) => () => fake.close()), () => gateway.close());
  const isBad = ({ json, form }: RecordedRequest): boolean =>
    JSON.stringify([json, form?.map(({ value }) => value)]).includes("bad");
  for (const fake of fakes) {
    fake.script({ fail: "server-error" }, { when: isBad, times: Number.POSITIVE_INFINITY });
  }
  const post = async (client: number, path: string, body: object | FormData): Promise<number> => {
    const isForm = body instanceof FormData;
    const response = await fetch(`${gateway.baseURL}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${keyOf(client)}`,
        ...(!isForm && { "content-type": "application/json" }),
      },
      body: isForm ? body : JSON.stringify(body),
    });
    await response.arrayBuffer();
    return response.status;
  };
  return {
    gateway,
    fakes,
    post,
    embed: (client: number, input: unknown) => post(client, "/embeddings", { model: "m", input }),
    draw: (client: number, prompt: string) =>
      post(client, "/images/generations", { model: "i", prompt }),
    /** Longer than a target is trusted because it has just served a request. */
    wait: () => Bun.sleep(600),
  };
}

describe("a client whose requests are all bad, and all different", () => {
  test.each([1, 2])("takes no model from the other clients: %i target(s)", async (upstreams) => {
    const { gateway, draw, embed, wait } = arrange({ upstreams });
    expect(await draw(0, "an otter")).toBe(200);
    expect(await embed(0, "an otter")).toBe(200);
    for (let round = 0; round < 2; round++) {
      await wait();
      for (let at = 0; at < 12; at++) expect(await draw(1, `bad ${round} ${at}`)).toBe(502);
      expect(await draw(0, `an otter ${round}`)).toBe(200);
      await wait();
      const bad = Array.from({ length: 12 }, (_, at) => embed(1, `bad ${round} ${at}`));
      expect(new Set(await Promise.all(bad))).toEqual(new Set([502]));
      expect(await embed(0, `text ${round}`)).toBe(200);
    }
    if (upstreams === 1) expect(gateway.log()).not.toContain("target-ejected");
  });
});

describe("one bad request", () => {
  test("of many clients ejects no target", async () => {
    const { gateway, draw, embed } = arrange({ clients: 8 });
    for (let client = 0; client < 8; client++) {
      expect(await draw(client, "bad")).toBe(502);
      expect(await embed(client, "bad")).toBe(502);
    }
    expect(await draw(0, "an otter")).toBe(200);
    expect(await embed(0, "an otter")).toBe(200);
    expect(gateway.log()).not.toContain("target-ejected");
  });

  test("with an image, sent again and again, ejects no target", async () => {
    const { gateway, post, draw } = arrange({ clients: 1 });
    const image = new Uint8Array(
      await createImage("source", { width: 64, height: 64, kind: "png" }),
    );
    for (let turn = 0; turn < 8; turn++) {
      const form = new FormData();
      form.set("model", "i");
      form.set("prompt", "bad");
      form.set("image", new Blob([image], { type: "image/png" }), "image.png");
      expect(await post(0, "/images/edits", form)).toBe(502);
    }
    expect(await draw(0, "an otter")).toBe(200);
    expect(gateway.log()).not.toContain("target-ejected");
  });

  test("that is split into many upstream requests is one failure", async () => {
    // At most 96 inputs in each upstream request.
    const { gateway, fakes, embed } = arrange({ clients: 1, kind: "heroku" });
    const inputs = Array.from({ length: 1000 }, (_, at) => `bad ${at}`);
    expect(await embed(0, inputs)).toBe(502);
    expect(fakes[0]!.requests.length).toBeGreaterThan(5);
    expect(await embed(0, "an otter")).toBe(200);
    expect(gateway.log()).not.toContain("target-ejected");
  });
});

describe("a server that fails for all requests", () => {
  test.each([1, 2])("is ejected after a few of them: %i client(s)", async (clients) => {
    const { gateway, fakes, draw, wait } = arrange({ clients });
    for (let client = 0; client < clients; client++)
      expect(await draw(client, "an otter")).toBe(200);
    await wait();
    const before = fakes[0]!.requests.length;
    for (let at = 0; at < 20; at++) await draw(at % clients, `bad ${at}`);
    expect(gateway.log()).toContain("target-ejected");
    expect(fakes[0]!.requests.length - before).toBeLessThanOrEqual(8);
  });
});
