/** Venice: OpenAI-compatible embeddings and generations, edits at its own paths. */
import type { Vendor } from "../../adapter.ts";
import { fromDialect, openServerCapabilities } from "../openai/dialect.ts";
import { nativeErrorReader } from "../wire/native-errors.ts";
import { readOpenaiError } from "../wire/openai-errors.ts";
import { veniceEdits, veniceGenerations, veniceImageCapabilities } from "./images.ts";

const baseUrl = "https://api.venice.ai/api/v1";

export const venice: Vendor = fromDialect(
  // docs.venice.ai/api-reference/endpoint/embeddings/generate.
  { name: "venice", baseUrl, embeddings: { ...openServerCapabilities, base64: true } },
  {
    generations: veniceGenerations(baseUrl),
    edits: veniceEdits(baseUrl),
    imageCapabilities: veniceImageCapabilities,
    // veniceai/api-docs, swagger.yaml: `{error: "…", details: {…}}`, and 402 with INSUFFICIENT_BALANCE.
    readError: nativeErrorReader({
      classify: ({ status, message }) => {
        if (status === 402) return "no credit";
        if (status === 404 && /\bmodel\b/i.test(message)) return "no such model";
        return undefined;
      },
      fallback: readOpenaiError,
    }),
  },
);
