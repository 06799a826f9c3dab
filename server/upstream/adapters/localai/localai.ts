/** LocalAI: OpenAI-compatible embeddings and generations, native edits. */
import type { Vendor } from "../../adapter.ts";
import { fromDialect, fullLengthCapabilities } from "../openai/dialect.ts";
import { openaiEndpoints } from "../wire/build-request.ts";
import { nativeErrorReader } from "../wire/native-errors.ts";
import { readOpenaiError } from "../wire/openai-errors.ts";
import { localaiEdits, localaiGenerations, localaiImageCapabilities } from "./images.ts";

const resolveEndpoint = openaiEndpoints(undefined);

export const localai: Vendor = fromDialect(
  // LocalAI, core/http/endpoints/openai/embeddings.go: no `dimensions`.
  { name: "localai", open: true, embeddings: { ...fullLengthCapabilities, base64: true } },
  {
    generations: localaiGenerations(resolveEndpoint),
    edits: localaiEdits(resolveEndpoint),
    imageCapabilities: localaiImageCapabilities,
    readError: nativeErrorReader({
      // core/http/middleware/request.go: `model "…" not found. To see available models, call GET /v1/models`.
      classify: ({ status, message }) =>
        status === 404 && /^model\b.*\bnot found\b/.test(message) && "no such model",
      fallback: readOpenaiError,
    }),
  },
);
