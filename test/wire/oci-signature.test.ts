/** OCI request signatures, verified as Oracle does: from the request alone, with the public key. */
import { expect, test } from "bun:test";
import { createHash, generateKeyPairSync, verify } from "node:crypto";
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import { signForOci, signStreamForOci } from "../../server/upstream/adapters/oci/signature.ts";

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const signer = {
  tenancy: "ocid1.tenancy.oc1..a",
  user: "ocid1.user.oc1..b",
  fingerprint: "20:3b:97",
  privateKey: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
};
const now = Date.parse("2026-01-01T00:00:00Z");
const unsigned: UpstreamRequest = {
  url: "https://inference.generativeai.us-chicago-1.oci.oraclecloud.com/20231130/actions/embedText",
  headers: { "content-type": "application/json", "x-team": "otters" },
  body: '{"inputs":["zwei Otter 🦦"]}',
};

/** The signed components of a request, by the names that signatures use. */
function signedParts({ url, headers, body }: UpstreamRequest): Readonly<Record<string, string>> {
  const { host, pathname, search } = new URL(url);
  const text = typeof body === "string" ? body : "";
  return {
    ...headers,
    host,
    "(request-target)": `${text === "" ? "get" : "post"} ${pathname}${search}`,
    "content-length": String(Buffer.byteLength(text)),
  };
}

function isTrue(request: UpstreamRequest): boolean {
  const [scheme, list = ""] = (request.headers.authorization ?? "").split(/ (.*)/s);
  expect(scheme).toBe("Signature");
  const members = Object.fromEntries(
    [...list.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  );
  expect(members).toMatchObject({
    version: "1",
    keyId: "ocid1.tenancy.oc1..a/ocid1.user.oc1..b/20:3b:97",
    algorithm: "rsa-sha256",
  });
  const there = signedParts(request);
  const statement = (members.headers ?? "")
    .split(" ")
    .map((name: string) => `${name}: ${there[name]}`)
    .join("\n");
  const signature = Buffer.from(members.signature ?? "", "base64");
  return verify("RSA-SHA256", Buffer.from(statement), publicKey, signature);
}

test("a request is signed with every component that Oracle requires", () => {
  const signed = signForOci(unsigned, signer, now);
  expect(isTrue(signed)).toBe(true);
  expect(signed.headers).toMatchObject({
    "x-date": "Thu, 01 Jan 2026 00:00:00 GMT",
    "x-team": "otters",
    "x-content-sha256": createHash("sha256")
      .update(unsigned.body as string)
      .digest("base64"),
  });
  for (const name of ["x-date", "(request-target)", "host", "content-length", "x-content-sha256"])
    expect(/headers="([^"]*)"/.exec(signed.headers.authorization ?? "")?.[1]).toContain(name);
});

test("a request whose body is streamed has the signature of the same body as text", async () => {
  const bytes = Buffer.from(unsigned.body as string);
  async function* open() {
    yield bytes.subarray(0, 7);
    yield bytes.subarray(7);
  }
  const body = { length: bytes.length, open };
  const signed = await signStreamForOci({ ...unsigned, body }, signer, now);
  expect(signed.body).toBe(body);
  expect(signed.headers).toEqual(signForOci(unsigned, signer, now).headers);
});

test("a request without a body is signed without one", () => {
  const { url, headers } = unsigned;
  const signed = signForOci({ url: `${url}?limit=1`, headers }, signer, now);
  expect(isTrue(signed)).toBe(true);
  expect(signed.headers["x-content-sha256"]).toBeUndefined();
});

test("a change after signing invalidates the signature", () => {
  const signed = signForOci(unsigned, signer, now);
  expect(isTrue({ ...signed, body: '{"inputs":["drei Otter 🦦"]} ' })).toBe(false);
  expect(isTrue({ ...signed, url: signed.url.replace("embedText", "chat") })).toBe(false);
  const later = { ...signed.headers, "x-date": "Fri, 02 Jan 2026 00:00:00 GMT" };
  expect(isTrue({ ...signed, headers: later })).toBe(false);
});
