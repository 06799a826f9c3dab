/**
 * GET /console and the paths below it: the files of the console, gzipped, with a Content-Security-Policy. Any other
 * path returns the console's page.
 */
import { randomBytes } from "node:crypto";
import { refuseMethod, unknownUrl } from "../http/dispatch.ts";
import { StaticContent } from "../http/static-content.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { IncomingRequest, OutgoingResponse } from "../request/http-types.ts";
import type { ConsoleFiles } from "./load-console.ts";

interface ServeConsoleOptions {
  readonly load: () => Promise<ConsoleFiles>;
  readonly onBuildError: (error: unknown) => void;
}

const contentTypes: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/**
 * No inline script, nothing from other hosts, no framing. `blob:` and `data:` are images made in the page. Style
 * elements that the scripts of the page create have its nonce.
 */
const contentSecurityPolicy = (styleNonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${styleNonce && ` 'nonce-${styleNonce}'`}`,
    "img-src 'self' blob: data:",
    "connect-src 'self'",
    "worker-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join("; ");

/** Files are directly below /console; the path of a page may end with the name of a model. */
const isFile = /^[^/]+\.(?:js|css|svg)$/;

/** The headers of every response, errors included. */
export const pageHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": contentSecurityPolicy(""),
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

type Contents = ReadonlyMap<string, StaticContent>;

export function createServeConsole({ load, onBuildError }: ServeConsoleOptions) {
  let loading: Promise<Contents> | undefined;
  const contents = async (): Promise<Contents> => {
    const files = await load();
    return new Map([...files].map(([name, bytes]) => [name, StaticContent.fromGzip(bytes)]));
  };
  const files = async (): Promise<Contents> => {
    loading ??= contents();
    try {
      return await loading;
    } catch (error) {
      // The next request tries again.
      loading = undefined;
      onBuildError(error);
      throw new GatewayError("internal", "The console could not be built. The log has the reason.");
    }
  };
  return async ({ method, path, headers }: IncomingRequest): Promise<OutgoingResponse> => {
    if (method !== "GET" && method !== "HEAD") return refuseMethod(method, path, ["GET"]);
    const built = await files();
    const requested = path.slice("/console/".length);
    // A page that is still open requests a file of an earlier build.
    if (!built.has(requested) && isFile.test(requested)) throw unknownUrl(method, path);
    const name = built.has(requested) ? requested : "index.html";
    const content = built.get(name) as StaticContent;
    if (name === "index.html") return page(content);
    const cacheControl = name === "icon.svg" ? "no-cache" : "public, max-age=31536000, immutable";
    return content.respond(headers, {
      "content-type": contentTypes[name.split(".").at(-1) ?? ""] ?? "application/octet-stream",
      "cache-control": cacheControl,
    });
  };
}

/** The page is sent uncompressed: it is small. Each response has another nonce, so it has no ETag. */
function page({ plain }: StaticContent): OutgoingResponse {
  const nonce = randomBytes(16).toString("base64");
  const html = new TextDecoder().decode(plain).replace("{nonce}", nonce);
  return {
    status: 200,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": contentSecurityPolicy(nonce),
      "cache-control": "no-cache",
    },
    body: new TextEncoder().encode(html),
  };
}
