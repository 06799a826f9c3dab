/** API keys share the storage of responses: one key cannot make the retries of another key be billed again. */
import { afterAll, expect, test } from "bun:test";
import { arrange } from "../conformance/arrange.ts";
import { testKey } from "../harness.ts";

const greedyKey = "sk-greedy-0123456789abcdef";
const { fake, gateway, close } = arrange({
  yaml: (url) => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${url}", apiKey: sk-fake }
models:
  - { id: image-model, kind: image, targets: [{ upstream: fake, model: gpt-image-2 }] }
keys:
  - { name: modest, key: ${testKey} }
  - { name: greedy, key: ${greedyKey} }
`,
  settings: { VEXEL_RESPONSES_MAX_BYTES: "60000" },
});
afterAll(() => close());

const generate = (apiKey: string, idempotencyKey: string) =>
  gateway.post(
    "/v1/images/generations",
    { model: "image-model", prompt: "an otter" },
    { authorization: `Bearer ${apiKey}`, "idempotency-key": idempotencyKey },
  );

test("a key that has filled its share is refused before its image is billed, and the retry of another key is replayed", async () => {
  let refused: Response | undefined;
  let paid = 0;
  for (; paid < 500 && !refused; paid++) {
    const response = await generate(greedyKey, `greedy ${paid}`);
    if (response.status !== 200) refused = response;
  }
  paid--;
  expect(refused?.status).toBe(503);
  expect(await refused?.text()).toContain("VEXEL_RESPONSES_MAX_BYTES");
  expect(refused?.headers.get("x-should-retry")).toBeNull();
  // When the stored responses have expired: VEXEL_RESPONSE_TTL.
  expect(refused?.headers.get("retry-after")).toBe("3600");
  expect(fake.requests).toHaveLength(paid);
  // Every image that was billed can be replayed.
  const last = await generate(greedyKey, `greedy ${paid - 1}`);
  expect(last.headers.get("idempotent-replayed")).toBe("true");

  const first = await (await generate(testKey, "modest")).text();
  const retry = await generate(testKey, "modest");
  expect(retry.headers.get("idempotent-replayed")).toBe("true");
  expect(await retry.text()).toBe(first);
  expect(fake.requests).toHaveLength(paid + 1);
  expect(gateway.log()).not.toContain("response-not-stored");
});
