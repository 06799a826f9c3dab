/** LocalAI: embeddings and pictures as OpenAI has them, edits in ways of its own. */
import type { Vendor } from "../../vendor.ts";
import { fromDialect, wholeOnly } from "../openai/dialect.ts";
import { openaiPlace } from "../openai/place.ts";
import { nativeFault } from "../wire/native-fault.ts";
import { readFault } from "../wire/upstream-fault.ts";
import { localaiEdits, localaiGenerations, localaiPictures } from "./pictures.ts";

const place = openaiPlace(undefined);

export const localai: Vendor = fromDialect(
  // LocalAI, core/http/endpoints/openai/embeddings.go: no `dimensions`.
  { name: "localai", open: true, embeddings: { ...wholeOnly, base64: true } },
  {
    generations: localaiGenerations(place),
    edits: localaiEdits(place),
    imageCapabilities: localaiPictures,
    readError: nativeFault({
      // core/http/middleware/request.go: `model "…" not found. To see available models, call GET /v1/models`.
      recognise: ({ status, words }) =>
        status === 404 && /^model\b.*\bnot found\b/.test(words) && "no such model",
      otherwise: readFault,
    }),
  },
);
