/** Shared by the AWS adapters: endpoint URLs, settings and request signing. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { viewOf } from "../../../lib/borrowed-bytes.ts";
import type { UpstreamRequest } from "../../adapter.ts";
import type { Upstream } from "../../contract.ts";
import { awsAuth } from "../../credentials/aws-auth.ts";
import { signatureHeaders } from "./sigv4.ts";

export interface AwsOptions {
  readonly region?: string;
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  readonly sessionToken?: string;
}

/** A setting that becomes part of a header or a URL. */
const word = z
  .string()
  .max(8192)
  .regex(/^[\x21-\x7e]+$/, "contains a character that is not allowed in an HTTP header");

export const awsOptions = {
  region: z
    .string()
    .max(100)
    .regex(/^[a-z0-9-]+$/, "must be a region's name, such as us-east-1")
    .optional()
    .describe("The AWS region, such as us-east-1."),
  accessKeyId: word.optional().describe("The id of the AWS access key."),
  secretAccessKey: word.optional().describe("The secret of the AWS access key."),
  sessionToken: word.optional().describe("The session token of temporary AWS credentials."),
  auth: awsAuth,
} as const;

/** `host`: the part of the host name before the region. */
export function awsRoot({ baseUrl, options }: Upstream, host: string): string {
  const { region = "" }: AwsOptions = options;
  const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  return baseUrl ?? `https://${host}.${region}.${domain}`;
}

/** A body that is streamed is signed by `signedStreamFor`: its bytes must be read first. */
export const signedFor =
  (service: string) =>
  (request: UpstreamRequest, upstream: Upstream, now: number): UpstreamRequest =>
    typeof request.body === "object" ? request : signRequest(request, upstream, service, now);

/**
 * The signature covers a hash of the body, and Bedrock does not document that it accepts a signature without one. So
 * the body is streamed twice, and never buffered.
 */
export const signedStreamFor =
  (service: string) =>
  async (request: UpstreamRequest, upstream: Upstream, now: number): Promise<UpstreamRequest> => {
    if (typeof request.body !== "object") return signRequest(request, upstream, service, now);
    const hash = createHash("sha256");
    for await (const chunk of request.body.open()) hash.update(viewOf(chunk));
    return signRequest(request, upstream, service, now, hash.digest("hex"));
  };

function signRequest(
  request: UpstreamRequest,
  upstream: Upstream,
  service: string,
  now: number,
  bodyHash?: string,
): UpstreamRequest {
  const { region, accessKeyId, secretAccessKey, sessionToken }: AwsOptions = upstream.options;
  const { url, headers, body } = request;
  if (region === undefined || accessKeyId === undefined || secretAccessKey === undefined)
    return request;
  const isGet = body === undefined;
  const authHeaders = signatureHeaders(
    {
      method: isGet ? "GET" : "POST",
      url,
      headers: isGet ? {} : { "content-type": headers["content-type"] ?? "" },
      body: typeof body === "string" ? body : "",
      ...(bodyHash !== undefined && { bodyHash }),
    },
    { accessKeyId, secretAccessKey, sessionToken, region, service },
    now,
  );
  return { ...request, headers: { ...headers, ...authHeaders } };
}
