/** Members that every kind of upstream has. The kinds add their own. */
import { z } from "zod";
import { schemaText } from "../messages/schema-messages.ts";
import { boundedRecord } from "./bounded-record.ts";
import { limits } from "./limits.ts";
import { id, secret } from "./names.ts";

export const headers = boundedRecord(
  z
    .string()
    .max(200)
    .regex(/^[!#$%&'*+.^_`|~\w-]+$/, schemaText("header_name")),
  z
    .string()
    .max(4096)
    .regex(/^[\x20-\x7e]*$/, schemaText("header_value")),
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
  if (/[\s\p{C}]/u.test(text) || !URL.canParse(text)) return schemaText("no_url");
  // The parser also accepts `http:host`, without slashes.
  if (!/^https?:\/\//i.test(text)) return schemaText("url_scheme");
  const url = new URL(text);
  if (url.username || url.password) return schemaText("url_no_user");
  if (text.includes("?") || text.includes("#")) return schemaText("url_no_query");
  const [, path] = endpointPath.exec(url.pathname) ?? [];
  return path === undefined ? undefined : schemaText("url_no_endpoint", { path });
}

/** The address of an endpoint, copied from a vendor's page: the gateway appends these paths to the base URL itself. */
const endpointPath =
  /(\/(?:embeddings|images\/(?:generations|edits|variations)|chat\/completions|completions))\/*$/i;

export const upstreamMembers = {
  id: id.describe("The name by which models refer to the upstream."),
  baseUrl: baseUrl.optional().describe("The address of the API."),
  apiKey: secret.optional().describe("The API key or token of the vendor."),
  headers: headers.default({}).describe("Extra headers of every request to the upstream."),
  limits: limits.optional().describe("Limits over all models of the upstream."),
};
