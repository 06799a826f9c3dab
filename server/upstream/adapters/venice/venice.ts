/** Venice: embeddings and generations as OpenAI has them, edits at paths of its own. */
import type { Vendor } from "../../vendor.ts";
import { fromDialect, plain } from "../openai/dialect.ts";
import { nativeFault } from "../wire/native-fault.ts";
import { readFault } from "../wire/upstream-fault.ts";
import { veniceEdits, veniceGenerations, venicePictures } from "./pictures.ts";

const baseUrl = "https://api.venice.ai/api/v1";

export const venice: Vendor = fromDialect(
  // docs.venice.ai/api-reference/endpoint/embeddings/generate.
  { name: "venice", baseUrl, embeddings: { ...plain, base64: true } },
  {
    generations: veniceGenerations(baseUrl),
    edits: veniceEdits(baseUrl),
    imageCapabilities: venicePictures,
    // veniceai/api-docs, swagger.yaml: `{error: "…", details: {…}}`, and 402 with INSUFFICIENT_BALANCE.
    readError: nativeFault({
      recognise: ({ status, words }) => {
        if (status === 402) return "no credit";
        if (status === 404 && /\bmodel\b/i.test(words)) return "no such model";
        return undefined;
      },
      otherwise: readFault,
    }),
  },
);
