/** Fireworks: OpenAI-compatible embeddings, native image APIs. */
import type { Vendor } from "../../adapter.ts";
import { fromDialect, textOnlyCapabilities } from "../openai/dialect.ts";
import { memberOf } from "../wire/members.ts";
import { type ErrorMeaning, nativeErrorReader, type VendorError } from "../wire/native-errors.ts";
import { readOpenaiError } from "../wire/openai-errors.ts";
import {
  fireworksBaseUrl,
  fireworksEdits,
  fireworksGenerations,
  fireworksImageCapabilities,
} from "./images.ts";

/** OpenAI's error format with other codes, such as NOT_FOUND; accounts that cannot pay are "suspended". */
function classify({ status, message, body }: VendorError): ErrorMeaning | undefined {
  const code = memberOf(memberOf(body, "error"), "code");
  if (/\b(nsfw|content (filter|moderation|policy)|safety)\b/i.test(message)) return "moderated";
  if (status === 404 && (code === "NOT_FOUND" || /^model not found/i.test(message))) {
    return "no such model";
  }
  return status === 402 || /\bsuspended\b.*\b(spending limit|past invoices)/i.test(message)
    ? "no credit"
    : undefined;
}

export const fireworks: Vendor = fromDialect(
  // docs.fireworks.ai/api-reference: additionalProperties false, an array of at most 2048.
  {
    name: "fireworks",
    baseUrl: fireworksBaseUrl,
    embeddings: { ...textOnlyCapabilities, dimensions: "any" },
  },
  {
    generations: fireworksGenerations,
    edits: fireworksEdits,
    imageCapabilities: fireworksImageCapabilities,
    readError: nativeErrorReader({ classify, fallback: readOpenaiError }),
  },
);
