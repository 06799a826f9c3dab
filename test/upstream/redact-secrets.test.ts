/** A vendor's error message that repeats the operator's key, in any form, does not show it to clients. */
import { describe, expect, test } from "bun:test";
import { redact } from "../../server/upstream/adapters/wire/error-body.ts";
import type { Target } from "../../server/upstream/contract.ts";
import { jsonResponse } from "../embeddings/upstream-response.ts";
import { startFake } from "../fake-upstream.ts";
import { startGateway, testKey } from "../harness.ts";

const key = "vendor/secret+key?1234~é";
const bytes = (text: string): Buffer => Buffer.from(text);

const redacted = (message: string, headers: Record<string, string> = {}): string => {
  const target = { model: "m", upstream: { apiKey: key, headers } } as unknown as Target;
  return redact(message, { target, model: "m" });
};

describe("the key of an upstream is redacted from a vendor's message", () => {
  test.each([
    ["as it was sent", key],
    ["percent-encoded", encodeURIComponent(key)],
    [
      "percent-encoded in lower case",
      encodeURIComponent(key).replace(/%../g, (c) => c.toLowerCase()),
    ],
    ["in base64", bytes(key).toString("base64")],
    ["in base64url", bytes(key).toString("base64url")],
    ["in basic authentication", bytes(`user:${key}`).toString("base64")],
    ["in basic authentication of a longer user", bytes(`users:${key}`).toString("base64")],
    ["in basic authentication without a password", bytes(`${key}:`).toString("base64")],
    ["in a token", `${bytes(`{"key":"${key}","at":1}`).toString("base64url")}.sig`],
  ])("%s", (_, form) => {
    const message = redacted(`Wrong key: ${form} was refused.`);
    expect(message).toMatch(/^Wrong key: \*\*\*\S* was refused\.$/);
  });

  test("as the credential of a header", () => {
    const headers = { "x-authorization": "Bearer another-secret-key" };
    expect(redacted("no access for another-secret-key", headers)).toBe("no access for ***");
  });
});

test("a message without a secret is unchanged, however much it looks like base64", () => {
  const message = `The input ${bytes("an ordinary text ".repeat(300)).toString("base64")} is invalid`;
  expect(redacted(message)).toBe(message.slice(0, 2000));
});

test("a client does not see the base64 of the upstream's key", async () => {
  const apiKey = "an-upstream-key-0123456789";
  const fake = startFake({ key: apiKey });
  const encoded = bytes(`:${apiKey}`).toString("base64");
  const error = { message: `bad credential ${encoded}`, type: "invalid_request_error" };
  fake.script(jsonResponse({ error }, 400), { times: Infinity });
  const gateway = startGateway({
    yaml: `
upstreams:
  - { id: vendor, kind: openai, baseUrl: "${fake.url}", apiKey: ${apiKey} }
models:
  - { id: vectors, kind: embedding, targets: [{ upstream: vendor, model: custom }] }
keys:
  - { name: test, key: ${testKey} }
`,
  });
  const response = await gateway.post("/v1/embeddings", { model: "vectors", input: "a" });
  const text = await response.text();
  await gateway.close();
  fake.close();
  expect(text).toContain("bad credential ***");
  expect(text).not.toContain(encoded.slice(4, -4));
});
