/** One API key sends inputs that hang the upstream: the requests of other keys are served. */
import { afterEach, expect, test } from "bun:test";
import { startFake } from "../fake-upstream.ts";
import { startGateway, testKey } from "../harness.ts";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

const otherKey = "sk-other-0123456789abcdef";

function arrange(upstreams: number) {
  const fakes = Array.from({ length: upstreams }, () => startFake());
  const gateway = startGateway({
    yaml: `
upstreams:
${fakes.map(({ url }, at) => `  - { id: u${at}, kind: openai, baseUrl: "${url}", apiKey: sk-fake }`).join("\n")}
models:
  - { id: m, kind: embedding, timeout: 2, targets: [${fakes.map((_, at) => `{ upstream: u${at}, model: text-embedding-3-small }`).join(", ")}] }
keys: [{ name: hanging, key: ${otherKey} }, { name: well, key: ${testKey} }]
`,
  });
  open.push(...fakes.map((fake) => () => fake.close()), () => gateway.close());
  for (const fake of fakes) {
    const hangs = ({ json }: { readonly json?: unknown }) => JSON.stringify(json).includes("hangs");
    fake.script({ hang: "headers" }, { when: hangs, times: Number.POSITIVE_INFINITY });
  }
  const embed = async (key: string, input: string): Promise<number> => {
    const response = await fetch(`${gateway.baseURL}/embeddings`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "m", input }),
    });
    await response.arrayBuffer();
    return response.status;
  };
  return { gateway, embed };
}

test.each([1, 2])(
  "inputs of one key that hang every target leave the model to the other keys: %i target(s)",
  async (upstreams) => {
    const { gateway, embed } = arrange(upstreams);
    expect(await embed(testKey, "warm-up")).toBe(200);
    for (let round = 0; round < 2; round++) {
      // Many more failures in a row than the circuit breaker allows.
      const hanging = Array.from({ length: 12 }, (_, at) =>
        embed(otherKey, `hangs ${round} ${at}`),
      );
      expect(new Set(await Promise.all(hanging))).toEqual(new Set([504]));
      for (let request = 0; request < 5; request++)
        expect(await embed(testKey, `text ${round} ${request}`)).toBe(200);
    }
    if (upstreams === 1) expect(gateway.log()).not.toContain("target-ejected");
  },
);
