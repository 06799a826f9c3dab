/**
 * An OpenID Connect issuer as a process of its own: `oidc-provider` with its development pages for login and consent.
 * It sends its address to the test, and gets from it the client and the accounts.
 */
import { createServer } from "node:http";
import { Provider } from "oidc-provider";
import type { IssuerAccount, IssuerMessage } from "./oidc-issuer.ts";

const server = createServer();
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = server.address();
if (address === null || typeof address === "string") throw new Error("no port");
const issuer = `http://127.0.0.1:${address.port}`;
const accounts = new Map<string, IssuerAccount>();

process.on("message", ({ client, account }: IssuerMessage) => {
  if (account) accounts.set(account.id, account);
  if (client) {
    const provider = new Provider(issuer, {
      clients: [client],
      scopes: ["openid", "email", "groups"],
      claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
      // Otherwise the ID token would never have the address.
      conformIdTokenClaims: false,
      pkce: { required: () => true },
      findAccount: (_context: unknown, id: string) => ({
        accountId: id,
        claims: (use: string) => ({
          sub: id,
          ...accounts.get(id)?.[use === "id_token" ? "idToken" : "claims"],
        }),
      }),
    });
    server.on("request", provider.callback());
  }
  process.send?.({ done: true });
});
process.send?.({ issuer });
