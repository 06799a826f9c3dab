/** The query parameters of the sign-in page. */
export interface SignInSearch {
  /** The path of the console that is opened after the sign-in. */
  readonly next?: string | undefined;
  /** Why a sign-in with OpenID Connect did not succeed. */
  readonly oidc?: "expired" | "failed" | "refused" | undefined;
}

/** Every parameter is in the result, also an invalid one: the router keeps the value of a parameter that is missing. */
export const readSignInSearch = ({ next, oidc }: Record<string, unknown>): SignInSearch => ({
  next: consolePath(next),
  oidc: oidc === "expired" || oidc === "failed" || oidc === "refused" ? oidc : undefined,
});

const origin = "http://console.invalid";

/** A link to another site must not work as a redirect. The URL is parsed, because browsers ignore tabs in URLs. */
function consolePath(next: unknown): string | undefined {
  if (typeof next !== "string" || !next.startsWith("/") || !URL.canParse(next, origin)) return;
  const url = new URL(next, origin);
  if (url.origin !== origin || url.pathname.startsWith("//")) return;
  return `${url.pathname}${url.search}${url.hash}`;
}
