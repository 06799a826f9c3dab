/** SigV4 (AWS Signature Version 4) over a request's bytes and the time. Tested with AWS's own test suite. */
import { createHash, createHmac } from "node:crypto";

interface Unsigned {
  readonly method: string;
  /** As sent: its path is encoded once. */
  readonly url: string;
  /** Signed headers. The host and the time are signed as well. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** SHA-256 of a streamed body, instead of the body. */
  readonly bodyHash?: string;
}

interface Signer {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  readonly region: string;
  readonly service: string;
}

/** Returns the headers of the signed request. `now`: Unix milliseconds. */
export function signatureHeaders(
  request: Unsigned,
  signer: Signer,
  now: number,
): Readonly<Record<string, string>> {
  const { accessKeyId, sessionToken, region, service } = signer;
  const time = new Date(now).toISOString().replace(/[-:]|\.\d+/g, "");
  const authFields = {
    "x-amz-date": time,
    ...(sessionToken !== undefined && { "x-amz-security-token": sessionToken }),
  };
  const { text, signed } = canonicalRequest(request, authFields);
  const scope = `${time.slice(0, 8)}/${region}/${service}/aws4_request`;
  const signature = hmac(
    signingKey(signer, time.slice(0, 8)),
    `AWS4-HMAC-SHA256\n${time}\n${scope}\n${sha256(text)}`,
  ).toString("hex");
  return {
    ...authFields,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${signed}, Signature=${signature}`,
  };
}

function canonicalRequest(
  { method, url, headers, body, bodyHash }: Unsigned,
  authFields: Readonly<Record<string, string>>,
): { readonly text: string; readonly signed: string } {
  const { host, pathname, search } = new URL(url);
  const rows = Object.entries({ ...headers, ...authFields, host })
    .map(([name, value]) => [name.toLowerCase(), value.trim().replace(/ +/g, " ")] as const)
    .sort(byFirst);
  const signed = rows.map(([name]) => name).join(";");
  const text = [
    method,
    // Encoded a second time, as every service except S3 requires: `%3A` of a model's id becomes `%253A`.
    pathname.split("/").map(encoded).join("/"),
    canonicalQuery(search),
    ...rows.map(([name, value]) => `${name}:${value}`),
    "",
    signed,
    bodyHash ?? sha256(body),
  ].join("\n");
  return { text, signed };
}

const canonicalQuery = (search: string): string =>
  [...new URLSearchParams(search)]
    .map(([name, value]) => [encoded(name), encoded(value)] as const)
    .sort((a, b) => byFirst(a, b) || (a[1] < b[1] ? -1 : 1))
    .map((pair) => pair.join("="))
    .join("&");

const signingKey = ({ secretAccessKey, region, service }: Signer, day: string): Buffer =>
  [day, region, service, "aws4_request"].reduce<Buffer>(
    (key, part) => hmac(key, part),
    Buffer.from(`AWS4${secretAccessKey}`),
  );

/** Sorts by code points, as AWS does. */
function byFirst([a]: readonly string[], [b]: readonly string[]): number {
  if (a === b) return 0;
  return (a as string) < (b as string) ? -1 : 1;
}

/** encodeURIComponent does not encode five characters that RFC 3986 reserves. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

const hmac = (key: Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();
