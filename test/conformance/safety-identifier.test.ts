/**
 * `safety_identifier` in image responses, as OpenAI's SDK documents it: the one of the request if it is not empty, or
 * else its `user`; absent if both are empty.
 */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { testKey } from "../harness.ts";
import { arrange, base64Of, grayImage } from "./arrange.ts";

const { fake, gateway, close } = arrange();
beforeEach(() => fake.clear());
afterAll(close);

const generation = { model: "image-model", prompt: "an otter" };

describe("safety_identifier in a response", () => {
  const image = [{ image_url: `data:image/png;base64,${base64Of(grayImage("x"))}` }];
  const identifierOf = async (path: string, body: object): Promise<unknown[]> => {
    const response = await fetch(`${gateway.url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${testKey}`, "content-type": "application/json" },
      body: JSON.stringify({ ...generation, ...body }),
    });
    const text = await response.text();
    expect(response.status, text).toBe(200);
    const bodies =
      "stream" in body ? [...text.matchAll(/^data: (.*)$/gm)].map(([, d]) => d) : [text];
    return bodies
      .map((json) => JSON.parse(json as string) as Record<string, unknown>)
      .filter(({ type }) => !String(type).endsWith("partial_image"))
      .map((payload) => payload.safety_identifier);
  };
  const cases = [
    [{ safety_identifier: "hash-1" }, "hash-1"],
    [{ user: "user-1" }, "user-1"],
    [{ safety_identifier: "hash-1", user: "user-1" }, "hash-1"],
    [{ safety_identifier: "", user: "user-1" }, "user-1"],
    [{ safety_identifier: "", user: "" }, undefined],
    [{}, undefined],
  ] as const;

  for (const [path, more] of [
    ["/v1/images/generations", {}],
    ["/v1/images/edits", { images: image }],
  ] as const) {
    for (const options of [{}, { stream: true, partial_images: 1 }]) {
      test.each(cases)(`${path} ${JSON.stringify(options)}: %p`, async (given, expected) => {
        expect(await identifierOf(path, { ...more, ...options, ...given })).toEqual([expected]);
        expect(fake.requests.at(-1)?.json ?? {}).not.toMatchObject({ safety_identifier: "" });
      });
    }
  }

  test("is the one that the upstream reports, if it is not empty", async () => {
    for (const [reported, expected] of [
      ["upstream-1", "upstream-1"],
      ["", "user-1"],
      [null, "user-1"],
    ]) {
      const body = { created: 1, data: [{ b64_json: base64Of(grayImage("x")) }] };
      fake.script({
        response: {
          status: 200,
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ ...body, safety_identifier: reported }),
        },
      });
      const given = { user: "user-1" };
      expect(await identifierOf("/v1/images/generations", given)).toEqual([expected]);
    }
  });
});
