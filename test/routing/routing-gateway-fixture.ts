/**
 * A real gateway with several fake upstreams: an embedding model and an image model, each with all of them as targets.
 */
import { type Fake, startFake } from "../fake-upstream.ts";
import { startGateway, type TestGateway, testKey } from "../harness.ts";

interface RoutingSetup {
  readonly gateway: TestGateway;
  readonly fakes: readonly Fake[];
  embed(): Promise<Response>;
  generateImage(): Promise<Response>;
}

const open: (() => unknown)[] = [];
export async function closeSetups(): Promise<void> {
  for (const close of open.splice(0).reverse()) await close();
}

export interface Options {
  readonly upstreams: number;
  /** YAML fields of the image model. */
  readonly imageModelFields?: string;
  /** By index: an address that replaces the fake's. */
  readonly addresses?: readonly string[];
  /** YAML fields of each upstream and of the embedding model. */
  readonly upstreamFields?: string;
  readonly embeddingModelFields?: string;
  readonly settings?: Readonly<Record<string, string>>;
}

export function arrange({
  upstreams,
  imageModelFields = "",
  addresses = [],
  upstreamFields = "",
  embeddingModelFields = "",
  settings = {},
}: Options): RoutingSetup {
  const fakes = Array.from({ length: upstreams }, () => startFake());
  const targets = (model: string) =>
    `[${fakes.map((_, at) => `{ upstream: u${at}, model: ${model} }`).join(", ")}]`;
  const gateway = startGateway({
    settings,
    yaml: `
upstreams:
${fakes.map(({ url }, at) => `  - { id: u${at}, kind: openai, baseUrl: "${addresses[at] ?? url}", apiKey: sk-fake${upstreamFields} }`).join("\n")}
models:
  - { id: vectors, kind: embedding${embeddingModelFields}, targets: ${targets("text-embedding-3-small")} }
  - { id: image-model, kind: image${imageModelFields}, targets: ${targets("gpt-image-1.5")} }
keys:
  - { name: test, key: ${testKey} }
`,
  });
  open.push(...fakes.map((fake) => () => fake.close()), () => gateway.close());
  let sent = 0;
  // No two bodies are equal: the same bad request, sent again, is no second failure of its target.
  const user = (): string => `user-${++sent}`;
  return {
    gateway,
    fakes,
    embed: () =>
      gateway.post("/v1/embeddings", { model: "vectors", input: ["a", "b"], user: user() }),
    generateImage: () =>
      gateway.post("/v1/images/generations", {
        model: "image-model",
        prompt: "an otter",
        user: user(),
      }),
  };
}

export const errorOf = async (response: Response) => ({
  status: response.status,
  code: ((await response.json()) as { error: { code: string } }).error.code,
  wait: Number(response.headers.get("retry-after-ms")),
});
