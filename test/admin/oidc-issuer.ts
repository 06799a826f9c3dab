/** Starts the issuer process, and a browser that follows redirects, keeps cookies and fills in the issuer's forms. */
import { join } from "node:path";

export interface IssuerMessage {
  readonly client?: {
    readonly client_id: string;
    readonly client_secret: string;
    readonly redirect_uris: readonly string[];
    readonly post_logout_redirect_uris: readonly string[];
  };
  readonly account?: IssuerAccount & { readonly id: string };
}

export interface IssuerAccount {
  /** Of the user info. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Of the ID token, besides the subject. */
  readonly idToken?: Readonly<Record<string, unknown>>;
}

export const clientId = "vexel";
export const clientSecret = "planted-oidc-client-secret";

export interface Issuer {
  readonly url: string;
  /** The gateway becomes a client of the issuer. */
  register(gatewayUrl: string): Promise<void>;
  setAccount(
    id: string,
    claims: IssuerAccount["claims"],
    idToken?: IssuerAccount["idToken"],
  ): Promise<void>;
  close(): void;
}

export async function startIssuer(): Promise<Issuer> {
  let receive: (message: { issuer?: string }) => void = () => undefined;
  const next = () => new Promise<{ issuer?: string }>((resolve) => (receive = resolve));
  const started = next();
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "oidc-issuer-process.ts")], {
    ipc: (message) => receive(message),
    stdout: "ignore",
    stderr: "ignore",
  });
  const send = async (message: IssuerMessage): Promise<void> => {
    const done = next();
    child.send(message);
    await done;
  };
  const { issuer: url = "" } = await started;
  return {
    url,
    register: (gatewayUrl) =>
      send({
        client: {
          client_id: clientId,
          client_secret: clientSecret,
          redirect_uris: [`${gatewayUrl}/admin/api/session/oidc/callback`],
          post_logout_redirect_uris: [`${gatewayUrl}/console/sign-in`],
        },
      }),
    setAccount: (id, claims, idToken = {}) => send({ account: { id, claims, idToken } }),
    close: () => child.kill(),
  };
}

/** Cookies by origin and name. Paths are ignored. */
export class CookieBrowser {
  readonly #jars = new Map<string, Map<string, string>>();

  async fetch(url: string, init: RequestInit = {}): Promise<Response> {
    const { origin } = new URL(url);
    const jar = this.#jars.get(origin) ?? new Map<string, string>();
    this.#jars.set(origin, jar);
    const headers = new Headers(init.headers);
    headers.set("cookie", [...jar].map(([name, value]) => `${name}=${value}`).join("; "));
    const response = await fetch(url, { ...init, headers, redirect: "manual" });
    for (const set of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      jar.set(name, value);
    }
    return response;
  }

  cookies(origin: string): ReadonlyMap<string, string> {
    return this.#jars.get(origin) ?? new Map();
  }

  /** Follows redirects until a page or a location that `stop` accepts. Returns its address. */
  async follow(url: string, stop: (url: string) => boolean, login: string): Promise<string> {
    let at = url;
    let init: RequestInit = {};
    for (let steps = 0; steps < 20; steps++) {
      if (stop(at)) return at;
      const response = await this.fetch(at, init);
      const location = response.headers.get("location");
      if (location !== null) {
        [at, init] = [new URL(location, at).href, {}];
        continue;
      }
      const page = await response.text();
      const [, action] = /<form[^>]* action="([^"]+)"/.exec(page) ?? [];
      const [, prompt] = /name="prompt" value="([^"]+)"/.exec(page) ?? [];
      if (!action || !prompt) throw new Error(`${at}: ${response.status} ${page.slice(0, 300)}`);
      const body = new URLSearchParams({ prompt, login, password: "any" });
      [at, init] = [new URL(action, at).href, { method: "POST", body }];
    }
    throw new Error(`too many redirects, the last to ${at}`);
  }
}
