/** Oracle's request signatures: an RSA signature over the headers and the body. */
import { createHash, sign } from "node:crypto";
import type { UpstreamRequest } from "../../adapter.ts";

export interface OciSigner {
  readonly tenancy: string;
  readonly user: string;
  readonly fingerprint: string;
  /** PEM. */
  readonly privateKey: string;
}

/** docs.oracle.com/en-us/iaas/Content/API/Concepts/signingrequests.htm. `now`: Unix milliseconds. */
export function signForOci(
  request: UpstreamRequest,
  signer: OciSigner,
  now: number,
): UpstreamRequest {
  const { url, headers, body } = request;
  const { host, pathname, search } = new URL(url);
  const text = typeof body === "string" ? body : undefined;
  const method = text === undefined ? "get" : "post";
  // Oracle accepts `x-date` instead of `date`, which some HTTP clients do not allow to be set.
  const date = { "x-date": new Date(now).toUTCString() };
  const digest = text !== undefined && { "x-content-sha256": sha256(text) };
  const signed: Readonly<Record<string, string>> = {
    ...date,
    "(request-target)": `${method} ${pathname}${search}`,
    host,
    ...(text !== undefined && {
      // The HTTP client sets this header.
      "content-length": String(Buffer.byteLength(text)),
      "content-type": headers["content-type"] ?? "",
    }),
    ...digest,
  };
  const authHeaders = { ...date, ...digest, authorization: authorization(signed, signer) };
  return { ...request, headers: { ...headers, ...authHeaders } };
}

function authorization(signed: Readonly<Record<string, string>>, signer: OciSigner): string {
  const { tenancy, user, fingerprint, privateKey } = signer;
  const statement = Object.entries(signed)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
  const members = {
    version: "1",
    keyId: `${tenancy}/${user}/${fingerprint}`,
    algorithm: "rsa-sha256",
    headers: Object.keys(signed).join(" "),
    signature: sign("RSA-SHA256", Buffer.from(statement), privateKey).toString("base64"),
  };
  const list = Object.entries(members).map(([name, value]) => `${name}="${value}"`);
  return `Signature ${list.join(",")}`;
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("base64");
