/** Public model IDs: clients never see the upstream's name of a model, and upstreams never see the public ID. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { jsonResponse } from "../embeddings/upstream-response.ts";
import { arrange, grayImage, refusalOf } from "./arrange.ts";

// embedding-model is text-embedding-3-large at the upstream, image-model is gpt-image-1.5.
const { fake, gateway, client, close } = arrange();
beforeEach(() => fake.clear());
afterAll(close);

describe("a model with its own public ID", () => {
  test("has it in the response, while the upstream request has the target's name", async () => {
    const response = await client.embeddings.create({ model: "embedding-model", input: "a" });
    expect(response.model).toBe("embedding-model");
    expect(response.data[0]!.embedding).toHaveLength(3072);
    expect(fake.requests[0]!.json).toMatchObject({ model: "text-embedding-3-large" });
    expect(gateway.rows().at(-1)).toMatchObject({
      model: "embedding-model",
      targetModel: "text-embedding-3-large",
    });
  });

  test("is named by it in the upstream's errors too", async () => {
    const message =
      "The model `text-embedding-3-large` is too tired for text-embedding-3-large work.";
    fake.script(jsonResponse({ error: { message, type: "invalid_request_error" } }, 400));
    const error = await refusalOf(
      client.embeddings.create({ model: "embedding-model", input: "a" }),
      Error,
    );
    expect(error.message).toContain(
      "The model `embedding-model` is too tired for embedding-model work.",
    );
  });

  test("is found in the list, and the target's name is not", async () => {
    const ids = (await client.models.list()).data.map(({ id }) => id);
    expect(ids).toContain("image-model");
    expect(ids).not.toContain("gpt-image-1.5");
    expect(JSON.stringify(await client.models.retrieve("image-model"))).not.toContain("1.5");
  });

  test("appears nowhere under the target's name in a stream", async () => {
    const payload = {
      type: "image_generation.completed",
      model: "gpt-image-1.5",
      b64_json: Buffer.from(grayImage("one")).toString("base64"),
    };
    fake.script({
      response: {
        status: 200,
        headers: { "content-type": "text/event-stream" },
        body: `data: ${JSON.stringify(payload)}\n\n`,
      },
    });
    const response = await gateway.post("/v1/images/generations", {
      model: "image-model",
      prompt: "an otter",
      stream: true,
    });
    const text = await response.text();
    expect(text).toContain("image_generation.completed");
    expect(text).not.toContain("gpt-image-1.5");
  });
});
