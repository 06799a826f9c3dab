/** OpenRouter: OpenAI-compatible embeddings, native image API. */
import type { Vendor } from "../../adapter.ts";
import { fromDialect } from "../openai/dialect.ts";
import { openrouterErrorReader } from "./errors.ts";
import { openrouterEdits, openrouterGenerations, openrouterImageCapabilities } from "./images.ts";

const baseUrl = "https://openrouter.ai/api/v1";

export const openrouter: Vendor = fromDialect(
  // openrouter.ai/docs/api/api-reference/embeddings.
  { name: "openrouter", baseUrl },
  {
    generations: openrouterGenerations(baseUrl),
    edits: openrouterEdits(baseUrl),
    imageCapabilities: openrouterImageCapabilities,
    readError: openrouterErrorReader,
  },
);
