/**
 * The security headers of every response of the admin API, with a Content-Security-Policy. They prevent caching,
 * content sniffing, framing by other sites and reads by scripts of other sites.
 */
export const responseHeaders: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};
