/** Fixture of tests in which some images of a request fail: a gateway in front of upstreams that fail on command. */
import { expect } from "bun:test";
import { base64Of, grayImage } from "../conformance/arrange.ts";
import { eventsOf } from "../faults/faults-fixture.ts";
import { startGateway, testKey } from "../harness.ts";

interface SentRequest {
  readonly n?: number;
  readonly seed?: number;
}
type Gives = (body: SentRequest, call: number) => Response | Promise<Response>;

/** An upstream with scripted responses that records its requests. */
class Upstream {
  readonly requests: SentRequest[] = [];
  readonly made: string[] = [];
  respond: Gives = (body) => this.generate(body);
  readonly server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request): Promise<Response> => {
      const body = (await request.json()) as SentRequest;
      return this.respond(body, this.requests.push(body) - 1);
    },
  });
  readonly #name: string;
  readonly #size: number;

  constructor(name: string, size: number) {
    this.#name = name;
    this.#size = size;
  }

  generate({ n = 1 }: SentRequest): Response {
    const images = Array.from({ length: n }, (_, at) =>
      base64Of(grayImage(`${this.#name} ${this.made.length + at}`, this.#size)),
    );
    this.made.push(...images);
    const usage = { input_tokens: 10 * n, output_tokens: 100 * n, total_tokens: 110 * n };
    return Response.json({ created: 1, data: images.map((b64_json) => ({ b64_json })), usage });
  }

  /** Responses by the index of the request; without one, images. */
  respondInstead(responses: Readonly<Record<number, () => Response>>): void {
    this.respond = (body, call) => responses[call]?.() ?? this.generate(body);
  }

  clear(): void {
    this.requests.length = 0;
    this.made.length = 0;
    this.respond = (body) => this.generate(body);
  }
}

export const slowDown = () =>
  Response.json({ error: { message: "Slow down.", code: "rate_limit_exceeded" } }, { status: 429 });
export const breaks = () => Response.json({ error: { message: "Broken." } }, { status: 500 });
/** Concurrent requests arrive in any order. */
export const sameAs = (images: readonly string[], ...made: readonly (readonly string[])[]): void =>
  expect(images.toSorted()).toEqual(made.flat().toSorted());
export const sent = (...frames: readonly object[]) =>
  new Response(frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join(""), {
    headers: { "content-type": "text/event-stream" },
  });
export const completedWith = (b64_json: string) => ({
  type: "image_generation.completed",
  b64_json,
});
export const limitFrame = {
  type: "error",
  error: { type: "requests", code: "rate_limit_exceeded", message: "Slow down." },
};
// dall-e-3 makes one image per request, gpt-image-1 ten.
const first = "{ upstream: east, model: dall-e-3, tier: 0, price: { image: 0.5 } }";
const second = "{ upstream: west, model: gpt-image-1, tier: 1, price: { image: 0.25 } }";
const house = (name: string, tier: number) =>
  `{ upstream: ${name}-house, model: image-model, tier: ${tier} }`;
const richKey = "sk-test-rich-0123456789";

export function startFixture() {
  const [east, west] = [new Upstream("east", 1024), new Upstream("west", 512)];
  const all = { east, west };
  const gateway = startGateway({
    yaml: `
upstreams:
${Object.entries(all)
  .map(([id, { server }]) => {
    const baseUrl = `http://127.0.0.1:${server.port}/v1`;
    return `  - { id: ${id}, kind: openai, baseUrl: "${baseUrl}", apiKey: x }
  - { id: ${id}-house, kind: openai-compatible, baseUrl: "${baseUrl}" }`;
  })
  .join("\n")}
models:
  - { id: image-model, kind: image, targets: [${first}, ${second}] }
  - { id: several, kind: image, targets: [${second.replace("tier: 1", "tier: 0")}, ${first.replace("tier: 0", "tier: 1")}] }
  - { id: reckless, kind: image, retryPaid: true, targets: [${first}, ${second}] }
  - { id: house, kind: image, targets: [${house("east", 0)}, ${house("west", 1)}] }
keys:
  - { name: test, key: ${testKey} }
  - { name: rich, key: ${richKey}, budget: { total: 1000 } }
`,
  });
  function reset(): void {
    for (const each of Object.values(all)) each.clear();
    gateway.resetTargets();
  }
  async function close(): Promise<void> {
    await gateway.close();
    for (const { server } of Object.values(all)) await server.stop(true);
  }

  const post = (body: object) =>
    gateway.post(
      "/v1/images/generations",
      { model: "image-model", prompt: "an otter", n: 4, ...body },
      { authorization: `Bearer ${richKey}` },
    );
  const row = () => gateway.rows().at(-1);
  async function generate(body: object = {}) {
    const response = await post(body);
    const upstreamResponse = (await response.json()) as {
      data?: { b64_json: string }[];
      [fact: string]: unknown;
    };
    return {
      status: response.status,
      response: upstreamResponse,
      images: (upstreamResponse.data ?? []).map(({ b64_json }) => b64_json),
      missing: response.headers.get("vexel-missing"),
      adapted: response.headers.get("vexel-adapted"),
    };
  }
  async function stream(body: object = {}) {
    const response = await post({ stream: true, ...body });
    const events = eventsOf(await response.text());
    const error = events.find(({ event }) => event === "error")?.data.error;
    return {
      images: events
        .filter(({ event }) => event?.endsWith(".completed"))
        .map(({ data }) => data.b64_json as string),
      error: error as { code: string; message: string } | undefined,
      missing: response.headers.get("vexel-missing"),
    };
  }
  return { east, west, gateway, reset, close, row, generate, stream };
}
