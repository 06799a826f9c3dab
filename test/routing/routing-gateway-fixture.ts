/** A real gateway with several fake upstreams: an embedding model and an image model, each with all of them as targets. */
import { type Fake, startFake } from "../fake-upstream.ts";
import { startGateway, type TestGateway, testKey } from "../harness.ts";

export interface Arranged {
  readonly gateway: TestGateway;
  readonly fakes: readonly Fake[];
  embed(): Promise<Response>;
  draw(): Promise<Response>;
}

const open: (() => unknown)[] = [];
export async function closeArranged(): Promise<void> {
  for (const close of open.splice(0).reverse()) await close();
}

export interface Options {
  readonly upstreams: number;
  /** Of the models. */
  readonly more?: string;
  /** By place: another address instead of the fake's. */
  readonly elsewhere?: readonly string[];
  /** More of each upstream, and of the vectors' model. */
  readonly ofUpstreams?: string;
  readonly ofVectors?: string;
  readonly settings?: Readonly<Record<string, string>>;
}

export function arrange({
  upstreams,
  more = "",
  elsewhere = [],
  ofUpstreams = "",
  ofVectors = "",
  settings = {},
}: Options): Arranged {
  const fakes = Array.from({ length: upstreams }, () => startFake());
  const targets = (model: string) =>
    `[${fakes.map((_, at) => `{ upstream: u${at}, model: ${model} }`).join(", ")}]`;
  const gateway = startGateway({
    settings,
    yaml: `
upstreams:
${fakes.map(({ url }, at) => `  - { id: u${at}, kind: openai, baseUrl: "${elsewhere[at] ?? url}", apiKey: sk-fake${ofUpstreams} }`).join("\n")}
models:
  - { id: vectors, kind: embedding${ofVectors}, targets: ${targets("text-embedding-3-small")} }
  - { id: painter, kind: image${more}, targets: ${targets("gpt-image-1.5")} }
keys:
  - { name: test, key: ${testKey} }
`,
  });
  open.push(...fakes.map((fake) => () => fake.close()), () => gateway.close());
  return {
    gateway,
    fakes,
    embed: () => gateway.post("/v1/embeddings", { model: "vectors", input: ["a", "b"] }),
    draw: () => gateway.post("/v1/images/generations", { model: "painter", prompt: "an otter" }),
  };
}

export const told = async (response: Response) => ({
  status: response.status,
  code: ((await response.json()) as { error: { code: string } }).error.code,
  wait: Number(response.headers.get("retry-after-ms")),
});
