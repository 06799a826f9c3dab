/** The embeddings playground with as many texts as it takes, of 3,072 dimensions: steps whose main-thread tasks are measured. */
import type { Page } from "playwright-core";
import type { ConsoleGateway } from "../test/browser/console-gateway.ts";

export interface Step {
  readonly name: string;
  act(): Promise<unknown>;
}

const texts = 1000;
const model = "large-vectors";
/** Most of the time is that of the vendor and the worker. */
const timeout = 300_000;

/** A model whose vectors have 3,072 dimensions. */
export const addLargeModel = ({ admin }: ConsoleGateway): Promise<unknown> =>
  admin("POST", "/models", {
    id: model,
    kind: "embedding",
    targets: [{ upstream: "us-east", model: "text-embedding-3-large" }],
  });

const file = (): string =>
  [
    "topic,text",
    ...Array.from({ length: texts }, (_, at) => `topic ${at % 7},text ${at} on subject ${at % 17}`),
  ].join("\n");

export const embeddingsPath = `/playground/embeddings?model=${model}`;

/** In this order. */
export function embeddingSteps(page: Page): readonly Step[] {
  const map = page.getByRole("img", { name: /^Map of texts/ });
  const heatMap = page.getByRole("img", { name: /^Similarity of every pair/ });
  const moveOver = async (canvas: typeof map): Promise<void> => {
    const { x = 0, y = 0, width = 0, height = 0 } = (await canvas.boundingBox()) ?? {};
    for (let share = 0; share < 1; share += 0.05)
      await page.mouse.move(x + width * share, y + height * share);
  };
  const zoomAt = async (canvas: typeof map): Promise<void> => {
    await canvas.click();
    for (let turn = 0; turn < 10; turn++) await page.mouse.wheel(0, -100);
  };
  return [
    {
      name: `read ${texts} texts`,
      act: async () => {
        const buffer = Buffer.from(file());
        await page
          .getByLabel("Text file")
          .setInputFiles({ name: "texts.csv", mimeType: "text/csv", buffer });
        await page.getByText("texts.csv").waitFor();
      },
    },
    {
      name: `embed and compare ${texts} texts`,
      act: async () => {
        await page.getByRole("button", { name: "Embed", exact: true }).click();
        await heatMap.waitFor({ timeout });
      },
    },
    { name: `map of ${texts} texts`, act: () => map.waitFor({ timeout }) },
    {
      name: "color by a column",
      act: async () => {
        await page.getByLabel("Color by").click();
        await page.getByRole("option", { name: "topic" }).click();
      },
    },
    { name: "point at the map", act: () => moveOver(map) },
    { name: "zoom the map", act: () => zoomAt(map) },
    { name: "zoom the heat map", act: () => zoomAt(heatMap) },
    { name: "point at the heat map", act: () => moveOver(heatMap) },
  ];
}
