/** Oracle's request signatures: an RSA signature over the headers and the body. */
import { createHash, sign } from "node:crypto";
import { viewOf } from "../../../lib/borrowed-bytes.ts";
import type { UpstreamRequest } from "../../adapter.ts";

export interface OciSigner {
  readonly tenancy: string;
  readonly user: string;
  readonly fingerprint: string;
  /** PEM. */
  readonly privateKey: string;
}

/** The length and the SHA-256 of a body. */
interface SignedBody {
  readonly length: number;
  readonly hash: string;
}

const bodyOf = ({ body }: UpstreamRequest): SignedBody | undefined =>
  typeof body === "string"
    ? { length: Buffer.byteLength(body), hash: createHash("sha256").update(body).digest("base64") }
    : undefined;

/** The same for a body that is streamed: it is read twice, and never buffered. */
export async function signStreamForOci(
  request: UpstreamRequest,
  signer: OciSigner,
  now: number,
): Promise<UpstreamRequest> {
  if (typeof request.body !== "object") return signForOci(request, signer, now);
  const hash = createHash("sha256");
  for await (const chunk of request.body.open()) hash.update(viewOf(chunk));
  const { length } = request.body;
  return signForOci(request, signer, now, { length, hash: hash.digest("base64") });
}

/** docs.oracle.com/en-us/iaas/Content/API/Concepts/signingrequests.htm. `now`: Unix milliseconds. */
export function signForOci(
  request: UpstreamRequest,
  signer: OciSigner,
  now: number,
  body: SignedBody | undefined = bodyOf(request),
): UpstreamRequest {
  const { url, headers } = request;
  const { host, pathname, search } = new URL(url);
  const method = body ? "post" : "get";
  // Oracle accepts `x-date` instead of `date`, which some HTTP clients do not allow to be set.
  const date = { "x-date": new Date(now).toUTCString() };
  const digest = body && { "x-content-sha256": body.hash };
  const signed: Readonly<Record<string, string>> = {
    ...date,
    "(request-target)": `${method} ${pathname}${search}`,
    host,
    ...(body && {
      // The HTTP client sets this header.
      "content-length": String(body.length),
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
