/**
 * Single sign-on with OpenID Connect: the authorization code flow with PKCE, state and nonce (`openid-client`), and the
 * claims of the ID token. The library is imported, and the issuer's metadata is requested, at the first sign-in after
 * the start.
 */
import type * as Library from "openid-client";
import { type Claims, joinClaims } from "./oidc-access.ts";
import type { OidcSettings } from "./oidc-settings.ts";

/**
 * - `test`: no session starts, and an administrator sees the role and the projects of the identity.
 * - `window`: a window over a page whose session has ended.
 */
export const signInPurposes = ["test", "window"] as const;
export type SignInPurpose = (typeof signInPurposes)[number];

/** The values that the browser keeps between the start of a sign-in and the return from the issuer. */
export interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  /** PKCE. */
  readonly codeVerifier: string;
  /** The default is the browser returns to the console. */
  readonly purpose?: SignInPurpose | undefined;
}

export interface OidcIdentity {
  /** Issuer and subject: unique forever, unlike an e-mail address. */
  readonly subject: string;
  readonly claims: Claims;
}

const timeoutSeconds = 10;

interface Connection {
  readonly library: typeof Library;
  readonly config: Library.Configuration;
}

export class OidcClient {
  readonly #settings: OidcSettings;
  #connecting: Promise<Connection> | undefined;

  constructor(settings: OidcSettings) {
    this.#settings = settings;
  }

  /** Why the issuer cannot be used. Undefined if it responds. */
  async problem(): Promise<string | undefined> {
    try {
      await this.#connect();
      return undefined;
    } catch (error) {
      return reasonOf(error);
    }
  }

  /** The address of the issuer to which the browser goes. */
  async start(redirectUri: string): Promise<{ url: string; pending: PendingSignIn }> {
    const { library, config } = await this.#connect();
    const pending: PendingSignIn = {
      state: library.randomState(),
      nonce: library.randomNonce(),
      codeVerifier: library.randomPKCECodeVerifier(),
    };
    const url = library.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: this.#settings.scopes,
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await library.calculatePKCECodeChallenge(pending.codeVerifier),
      code_challenge_method: "S256",
    });
    return { url: url.href, pending };
  }

  /** `callback`: the address to which the issuer has sent the browser. Throws if anything about it is wrong. */
  async finish(callback: URL, pending: PendingSignIn): Promise<OidcIdentity> {
    const { library, config } = await this.#connect();
    const tokens = await library.authorizationCodeGrant(config, callback, {
      expectedState: pending.state,
      expectedNonce: pending.nonce,
      pkceCodeVerifier: pending.codeVerifier,
      idTokenExpected: true,
    });
    const identity = tokens.claims();
    if (!identity) throw new Error("the issuer sent no ID token");
    const { userinfo_endpoint: endpoint } = config.serverMetadata();
    // Most issuers put few claims into the ID token and the others into the user info.
    const userInfo = endpoint
      ? await library.fetchUserInfo(config, tokens.access_token, identity.sub)
      : {};
    return { subject: `${identity.iss} ${identity.sub}`, claims: joinClaims(identity, userInfo) };
  }

  /** The URL at which the browser ends the session at the issuer. Undefined if the issuer has no such URL. */
  async signOutUrl(returnTo: string): Promise<string | undefined> {
    const { library, config } = await this.#connect();
    if (!config.serverMetadata().end_session_endpoint) return undefined;
    const parameters = { post_logout_redirect_uri: returnTo };
    return library.buildEndSessionUrl(config, parameters).href;
  }

  #connect(): Promise<Connection> {
    this.#connecting ??= this.#discover();
    return this.#connecting;
  }

  async #discover(): Promise<Connection> {
    const { issuer, clientId, clientSecret } = this.#settings;
    try {
      const library = await import("openid-client");
      const authentication = clientSecret ? undefined : library.None();
      const config = await library.discovery(issuer, clientId, clientSecret, authentication, {
        timeout: timeoutSeconds,
        // The settings allow http:// on this machine only.
        ...(issuer.protocol === "http:" && { execute: [library.allowInsecureRequests] }),
      });
      // Also verifies the signature of ID tokens that came from the issuer over TLS.
      library.enableNonRepudiationChecks(config);
      return { library, config };
    } catch (error) {
      // The next sign-in tries again.
      this.#connecting = undefined;
      throw error;
    }
  }
}

/** Errors of the library have the reason of the issuer as their cause. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error ? `${error.message}: ${cause.message}` : error.message;
}
