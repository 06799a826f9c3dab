/**
 * An OpenID Connect issuer as a process of its own: `oidc-provider` with its development pages for login and consent.
 * It sends its address to the test, and gets from it the client and the accounts.
 */
import { createServer } from "node:http";
import { Provider } from "oidc-provider";
import type { IssuerMessage } from "./oidc-issuer.ts";

const server = createServer();
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = server.address();
if (address === null || typeof address === "string") throw new Error("no port");
const issuer = `http://127.0.0.1:${address.port}`;
const accounts = new Map<string, Readonly<Record<string, unknown>>>();

process.on("message", ({ client, account }: IssuerMessage) => {
  if (account) accounts.set(account.id, account.claims);
  if (client) {
    const provider = new Provider(issuer, {
      clients: [client],
      scopes: ["openid", "email", "groups"],
      claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
      pkce: { required: () => true },
      findAccount: (_context: unknown, id: string) => ({
        accountId: id,
        claims: () => ({ sub: id, ...accounts.get(id) }),
      }),
    });
    server.on("request", provider.callback());
  }
  process.send?.({ done: true });
});
process.send?.({ issuer });
