/** The query parameters of the sign-in page. */
export interface SignInSearch {
  readonly next?: string;
  /** Why a sign-in with OpenID Connect did not succeed. */
  readonly oidc?: "expired" | "failed" | "refused";
}

export const readSignInSearch = ({ next, oidc }: Record<string, unknown>): SignInSearch => ({
  // A path of this console only: a link to another site must not work as a redirect.
  ...(typeof next === "string" && /^\/(?![/\\])/.test(next) && { next }),
  ...((oidc === "expired" || oidc === "failed" || oidc === "refused") && { oidc }),
});
