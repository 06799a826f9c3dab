/** Images of Microsoft Foundry and Runway: cases that the laws for all vendors do not cover. */
import { describe, expect, test } from "bun:test";
import { azureAi } from "../../server/upstream/adapters/microsoft/azure-ai.ts";
import { runway } from "../../server/upstream/adapters/runway/runway.ts";
import { listedImagePrice } from "../../server/upstream/catalog/prices/model-price.ts";
import { costOf } from "../../server/upstream/catalog/prices/request-cost.ts";
import { bodyOf, edit, file, query, read, targetOf } from "./image-adapter-fixture.ts";

describe("Microsoft Foundry", () => {
  const root = "https://ours.services.ai.azure.com";
  const target = (model: string, baseUrl = root) => targetOf("azure-ai", model, baseUrl);

  test.each([
    ["MAI-Image-2.6", "mai/v1/images/generations?api-version=preview"],
    ["our_mai_image", "mai/v1/images/generations?api-version=preview"],
    ["FLUX.2-pro", "providers/blackforestlabs/v1/flux-2-pro?api-version=preview"],
    ["our-flux-2-flex", "providers/blackforestlabs/v1/flux-2-flex?api-version=preview"],
    [
      "FLUX-1.1-pro",
      "openai/deployments/FLUX-1.1-pro/images/generations?api-version=2025-04-01-preview",
    ],
    [
      "gpt-image-2",
      "openai/deployments/gpt-image-2/images/generations?api-version=2025-04-01-preview",
    ],
  ])("has an API for the name of a deployment: %s", (model, path) => {
    for (const baseUrl of [root, `${root}/models`]) {
      const request = azureAi.adapter.generations!.toUpstream(query(), target(model, baseUrl));
      expect(request.url).toBe(`${root}/${path}`);
    }
  });

  test("counts the tokens of MAI-Image, which have a price", async () => {
    const response = await read(azureAi.adapter, target("MAI-Image-2.6"), {
      data: [{ b64_json: "AAAA" }],
      usage: { num_input_text_tokens: 1000, num_input_image_tokens: 2000, num_output_tokens: 1000 },
    });
    const usage = response.kind === "buffered" ? response.usage : undefined;
    expect(usage).toMatchObject({ input_tokens: 3000, output_tokens: 1000, total_tokens: 4000 });
    const operation = { operation: "edits", extraFields: {} } as const;
    const cost = costOf(listedImagePrice(target("MAI-Image-2.6"), operation), {
      inputTokens: 3000,
      outputTokens: 1000,
      input: { text: 1000, image: 2000 },
      output: { text: 0, image: 1000 },
      images: 1,
    });
    expect(cost).toBeCloseTo((1000 * 5 + 2000 * 8 + 1000 * 38) / 1e6);
  });

  test("does not know how many tokens there are if MAI-Image counts only some", async () => {
    const response = await read(azureAi.adapter, target("MAI-Image-2.6"), {
      data: [{ b64_json: "AAAA" }],
      usage: { num_input_text_tokens: 9 },
    });
    expect(response).not.toHaveProperty("usage");
  });
});

describe("Runway", () => {
  const target = (model: string) => targetOf("runway", model);
  const generated = (model: string, size?: string) =>
    bodyOf(
      runway.adapter.generations!.toUpstream(
        query(size ? { options: { size } } : {}),
        target(model),
      ),
    );

  test("gets a ratio that the model has if the client sends no size", async () => {
    const ratioOf = async (model: string, size?: string) => (await generated(model, size)).ratio;
    expect(await ratioOf("gen4_image")).toBe("1920:1080");
    expect(await ratioOf("gpt_image_2", "auto")).toBe("auto");
    expect(await ratioOf("seedream5_pro")).toBe("auto_1k");
    expect(await ratioOf("ideogram_4_5")).toBeUndefined();
    expect(await ratioOf("gen4_image", "1280x720")).toBe("1280:720");
  });

  test("lets Grok edit the image instead of looking at it", async () => {
    const request = runway.adapter.edits!.toUpstream(
      edit({ kind: "file", file }),
      target("grok_imagine_image_2"),
    );
    expect(await bodyOf(request)).toMatchObject({ edit: true });
  });

  test("reports what a task has cost: one credit is one cent", async () => {
    const task = { id: "t", status: "SUCCEEDED", output: ["https://x.example/y.png"] };
    const done = await read(runway.adapter, target("gen4_image"), {
      ...task,
      cost: { credits: 8 },
    });
    expect(done.cost).toBe(0.08);
    const accepted = { id: "t", estimatedCost: { credits: 8 } };
    expect((await read(runway.adapter, target("gen4_image"), accepted)).cost).toBe(0.08);
  });
});
