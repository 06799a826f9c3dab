/** Azure OpenAI: OpenAI's own language, at addresses of its own. */
import { z } from "zod";
import type { Vendor } from "../vendor.ts";
import { openaiTraits } from "./dialects.ts";
import { openaiEmbeddings } from "./openai-embeddings.ts";
import { openaiEdits, openaiGenerations } from "./openai-images.ts";
import { azurePlace } from "./place.ts";
import { readFault } from "./upstream-fault.ts";

export const azure: Vendor = {
  kind: {
    name: "azure",
    needs: ["baseUrl", "apiKey"],
    options: { apiVersion: z.string().min(1).optional(), base64: z.boolean().optional() },
  },
  adapter: {
    name: "azure",
    embeddings: openaiEmbeddings(azurePlace, openaiTraits),
    generations: openaiGenerations(azurePlace),
    edits: openaiEdits(azurePlace),
    fault: readFault,
  },
};
