/** Members that every kind of upstream has. The kinds add their own. */
import { z } from "zod";
import { boundedRecord } from "./bounded-record.ts";
import { limits } from "./limits.ts";
import { id, secret } from "./names.ts";

export const headers = boundedRecord(
  z
    .string()
    .max(200)
    .regex(/^[!#$%&'*+.^_`|~\w-]+$/, "is not a valid header name"),
  z
    .string()
    .max(4096)
    .regex(
      /^[\x20-\x7e]*$/,
      "contains a line break or another character that is not allowed in a header",
    ),
  100,
);

export const baseUrl = z
  .string()
  .max(2000)
  .transform((text, context) => {
    const problem = urlProblem(text);
    if (problem) context.addIssue({ code: "custom", message: problem });
    // Scheme and host are case-insensitive: one spelling, so that two base URLs can be compared.
    return text.replace(/^[^/]*\/\/[^/]*/, (origin) => origin.toLowerCase()).replace(/\/+$/, "");
  });

function urlProblem(text: string): string | undefined {
  if (/[\s\p{C}]/u.test(text) || !URL.canParse(text)) return "is not a URL";
  // The parser also accepts `http:host`, without slashes.
  if (!/^https?:\/\//i.test(text)) return "must start with http:// or https://";
  const url = new URL(text);
  if (url.username || url.password) return "must not contain a user name or password: use apiKey";
  if (text.includes("?") || text.includes("#"))
    return "must not contain a query (?) or fragment (#)";
  return undefined;
}

export const upstreamMembers = {
  id: id.describe("The name by which models refer to the upstream."),
  baseUrl: baseUrl.optional().describe("The address of the API."),
  apiKey: secret.optional().describe("The API key or token of the vendor."),
  headers: headers.default({}).describe("Extra headers of every request to the upstream."),
  limits: limits.optional().describe("Limits over all models of the upstream."),
};
