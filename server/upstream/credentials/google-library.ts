/** Access tokens by Google's library: users, federations and impersonations. It is loaded when the first one is needed. */
import { BaseExternalAccountClient, GoogleAuth, gaxios, type JWTInput } from "google-auth-library";
import { errorMessage } from "../../lib/error-code.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { CredentialContext, Issued } from "../adapter.ts";
import { memberOf } from "../adapters/wire/members.ts";
import { cloudPlatform } from "./google-scope.ts";
import { cleanDetail, refused, toRefusal } from "./request-credential.ts";

/** The library does not know when some tokens expire. One that has expired is replaced when it is refused. */
const unknownLifetimeMs = 15 * 60_000;

/** `file`: the content of a credential file. */
export async function fileToken(
  context: CredentialContext,
  file: unknown,
): Promise<Issued<string>> {
  const requests = new Requests(context, file);
  try {
    const client = new Auth(requests).fromJSON(file as JWTInput);
    const headers = await client.getRequestHeaders();
    const value = headers.get("authorization")?.replace(/^Bearer /, "");
    if (!value) throw refused("Google's token service returned no token");
    const lastsMs = (client.credentials.expiry_date ?? Number.NaN) - context.now();
    return { value, lastsMs: lastsMs > 0 ? lastsMs : unknownLifetimeMs };
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw requests.failure ?? refused(`the credential file: ${cleanDetail(errorMessage(error))}`);
  }
}

/** Every client of the library sends its requests as all other requests to upstreams are sent. */
class Auth extends GoogleAuth {
  readonly #transporter: gaxios.Gaxios;

  constructor({ fetch }: Requests) {
    super({ scopes: cloudPlatform });
    // A proxy is the concern of `fetch`.
    const fetchImplementation = Object.assign(fetch, { preconnect: () => undefined });
    this.#transporter = new gaxios.Gaxios({ fetchImplementation, noProxy: [/./] });
  }

  override fromJSON(...[file]: Parameters<GoogleAuth["fromJSON"]>): JsonClient {
    const transporter = this.#transporter;
    const client = super.fromJSON(file, { transporter });
    client.transporter = transporter;
    // The library gives this part no options.
    if (client instanceof BaseExternalAccountClient)
      Object.assign(Reflect.get(client, "stsCredential"), { transporter });
    return client;
  }
}

type JsonClient = ReturnType<GoogleAuth["fromJSON"]>;

/** Names of services in errors, for operators. */
const sts = "Google's STS";
const iam = "Google's IAM credentials service";
const subjectTokenUrl = "the subject token's URL";

class Requests {
  readonly #context: CredentialContext;
  /** The services at the URLs that the file names. */
  readonly #services: ReadonlyMap<string, string>;
  /** Why the last request failed. */
  failure: GatewayError | undefined;

  constructor(context: CredentialContext, file: unknown) {
    this.#context = context;
    const source = memberOf(file, "credential_source");
    const named = [
      [memberOf(file, "token_url"), sts],
      [memberOf(file, "service_account_impersonation_url"), iam],
      ...["url", "region_url", "imdsv2_session_token_url"].map((name) => [
        memberOf(source, name),
        subjectTokenUrl,
      ]),
    ];
    this.#services = new Map(named.filter(isNamed));
  }

  /** Only the URLs of a subject token, which are those of a machine's file, may be of a metadata service. */
  readonly fetch = async (input: unknown, init: RequestInit = {}): Promise<Response> => {
    const { send, sendToMetadata, signal } = this.#context;
    const { method = "GET", body } = init;
    const url = String(input);
    const service = this.#serviceAt(url);
    this.failure = undefined;
    try {
      const response = await (service === subjectTokenUrl ? sendToMetadata : send)(
        {
          url,
          headers: Object.fromEntries(new Headers(init.headers)),
          ...(body && { body: String(body) }),
          ...(method === "PUT" && { method }),
        },
        signal,
      );
      const { status, headers } = response;
      const text = await response.text();
      if (status >= 300) this.failure = await toRefusal(status, text, service);
      const contentType = headers.get("content-type") ?? "text/plain";
      return new Response(text, { status, headers: { "content-type": contentType } });
    } catch (error) {
      if (error instanceof GatewayError) this.failure = error;
      throw error;
    }
  };

  #serviceAt(url: string): string {
    for (const [prefix, service] of this.#services)
      if (url === prefix || url.startsWith(`${prefix}/`)) return service;
    return url.includes("//iamcredentials.") ? iam : "Google's token service";
  }
}

const isNamed = (entry: readonly unknown[]): entry is [string, string] =>
  typeof entry[0] === "string";
