/** The embeddings playground in a browser. */
import { expect } from "bun:test";
import { seriousFindings } from "./axe.ts";
import { browserTest, chooseModels } from "./browser-test.ts";

browserTest(
  "texts are embedded with two models, and the heat map, the map and both neighbor lists appear",
  async ({ page, open }) => {
    await open("/playground/embeddings");
    await chooseModels(page, "all-minilm-l6-v2", "embedding-model");
    await page.getByRole("button", { name: "Embed", exact: true }).click();
    const heatMaps = page.getByRole("img", { name: "Similarity of every pair of texts" });
    await heatMaps.first().waitFor();
    expect(await heatMaps.count()).toBe(2);
    expect(await page.getByText("0 or less: unrelated").count()).toBe(2);
    const maps = page.getByRole("img", { name: /^Map of texts/ });
    await maps.nth(1).waitFor();
    expect(await page.getByText(/^12 points\./).count()).toBe(2);

    // The ledger has the cost of each request: the built-in model is free, the other one is not.
    const results = page.getByRole("region", { name: "Results" });
    await results.getByRole("cell", { name: "$0.00", exact: true }).waitFor();
    await results.getByRole("cell", { name: /^\$0\.00\d*[1-9]/ }).waitFor();

    // The model that runs inside the gateway knows which sentences are about the same thing.
    const neighbors = page.getByRole("region", { name: "all-minilm-l6-v2", exact: true });
    expect(await neighbors.getByRole("listitem").first().textContent()).toContain("A kitten naps");
    await neighbors.getByRole("button").first().click();
    await page.getByText("Nearest to A kitten naps on the couch.").waitFor();
    expect(await page.getByText(/in common with embedding-model/).count()).toBe(1);

    const slider = page.getByRole("slider", { name: /all-minilm-l6-v2/ });
    await slider.fill("8");
    await page.getByText(/97\.9% less storage/).waitFor();
    expect(await page.getByRole("region", { name: "curl" }).textContent()).toContain(
      "/v1/embeddings",
    );
    expect(await seriousFindings(page)).toEqual([]);
  },
);
