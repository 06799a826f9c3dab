/** The models of the fake upstream, and the capabilities of each image model (the matrix of the contract). */

import { type FakeResponse, json } from "./fake-response.ts";
import { noModel } from "./refusal.ts";

/** Name -> length of its vectors. */
export const embeddingModels: Readonly<Record<string, number>> = {
  "text-embedding-3-small": 1536,
  "text-embedding-3-large": 3072,
  "text-embedding-ada-002": 1536,
  /** Not in the catalog: the length of its vectors is known only from its responses. */
  "custom-embedding-1": 1536,
};

export interface ImageModel {
  readonly family: "gpt" | "dall-e-2" | "dall-e-3";
  /** Empty: `quality` is an unknown parameter. */
  readonly qualities: readonly string[];
  readonly sizes: readonly string[] | "flexible";
  readonly transparent: boolean;
  readonly fidelities: readonly string[];
}

const squares = ["1024x1024", "1024x1536", "1536x1024", "auto"];
const gpt: ImageModel = {
  family: "gpt",
  qualities: ["low", "medium", "high", "auto"],
  sizes: squares,
  transparent: true,
  fidelities: ["high", "low"],
};
// Transparency on gpt-image-2 is a preview; the fake is an account without it.
const gpt2: ImageModel = { ...gpt, sizes: "flexible", transparent: false };
const gpt25: ImageModel = {
  ...gpt2,
  transparent: true,
  qualities: ["low", "medium", "high", "xhigh", "max", "auto"],
};

/** Includes retired models: compatible servers still have their parameters. */
export const imageModels: Readonly<Record<string, ImageModel>> = {
  "dall-e-2": {
    family: "dall-e-2",
    qualities: [],
    sizes: ["256x256", "512x512", "1024x1024"],
    transparent: false,
    fidelities: [],
  },
  "dall-e-3": {
    family: "dall-e-3",
    qualities: ["standard", "hd"],
    sizes: ["1024x1024", "1792x1024", "1024x1792"],
    transparent: false,
    fidelities: [],
  },
  "gpt-image-1": gpt,
  "gpt-image-1-mini": { ...gpt, fidelities: ["low"] },
  "gpt-image-1.5": gpt,
  "chatgpt-image-latest": gpt,
  "gpt-image-2": gpt2,
  "gpt-image-2-2026-04-21": gpt2,
  "gpt-image-2.5-sunburst": gpt25,
  "gpt-image-2.5-flare": gpt25,
  "gpt-image-2.6-sunburst": gpt25,
  "gpt-image-2.6-flare": gpt25,
};

const row = (id: string) => ({ id, object: "model", created: 1_705_953_180, owned_by: "system" });
const ids = [...Object.keys(embeddingModels), ...Object.keys(imageModels)];

export const listModels = (): FakeResponse => json({ object: "list", data: ids.map(row) });

export function showModel(id: string): FakeResponse {
  if (!ids.includes(id)) throw noModel(id);
  return json(row(id));
}
