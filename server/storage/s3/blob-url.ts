/**
 * Reads `BLOB_URL`: `s3://KEY_ID:SECRET@bucket/prefix?endpoint=…&region=…&links=…`. `links`: whether image links lead
 * to the gateway, or to the object store by presigned URL.
 */
import { StoreError } from "../sqlite/open-database.ts";

export interface BlobLocation {
  readonly bucket: string;
  /** Empty, or ends with a slash. */
  readonly prefix: string;
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  /** Which server image links lead to: the gateway, or the object store by presigned URL. */
  readonly links: "gateway" | "presigned";
}

type Environment = Readonly<Record<string, string | undefined>>;

const parameters: ReadonlySet<string> = new Set(["endpoint", "region", "links"]);

/** `env`: has the credentials, unless the URL has them. Throws StoreError, without the credentials. */
export function parseBlobUrl(text: string, env: Environment): BlobLocation {
  const url = URL.parse(text);
  if (url?.protocol !== "s3:" || url.hostname === "") {
    throw invalid("it must have the form s3://bucket/prefix?endpoint=https://host");
  }
  for (const name of url.searchParams.keys()) {
    if (!parameters.has(name)) throw invalid(`it has the unknown parameter "${name}"`);
  }
  const region = url.searchParams.get("region") ?? env.AWS_REGION ?? "us-east-1";
  const endpoint = url.searchParams.get("endpoint") ?? `https://s3.${region}.amazonaws.com`;
  if (!/^https?:\/\/[^/?#]+\/?$/i.test(endpoint)) {
    throw invalid("its endpoint must be an http:// or https:// URL without a path");
  }
  const links = url.searchParams.get("links") ?? "gateway";
  if (links !== "gateway" && links !== "presigned") {
    throw invalid("its parameter links must be gateway or presigned");
  }
  const path = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, "");
  return {
    bucket: url.hostname,
    prefix: path === "" ? "" : `${path}/`,
    endpoint: endpoint.replace(/\/$/, ""),
    region,
    ...credentialsOf(url, env),
    links,
  };
}

function credentialsOf(url: URL, env: Environment) {
  if (url.username !== "") {
    const token = ["AWS_SESSION_TOKEN", "S3_SESSION_TOKEN"].find((name) => env[name]);
    if (token !== undefined) {
      // Bun's client would send the session token of the environment with the credentials of the URL.
      throw invalid(
        `it has credentials, and ${token} is set, which belongs to other credentials. Remove one of them`,
      );
    }
    return {
      accessKeyId: decodeURIComponent(url.username),
      secretAccessKey: decodeURIComponent(url.password),
      sessionToken: "",
    };
  }
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (!accessKeyId || !secretAccessKey) {
    throw invalid(
      "it has no credentials: write s3://KEY_ID:SECRET@bucket, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    );
  }
  return { accessKeyId, secretAccessKey, sessionToken: env.AWS_SESSION_TOKEN ?? "" };
}

const invalid = (problem: string): StoreError =>
  new StoreError(`BLOB_URL cannot be used: ${problem}.`);
