/** Keys of AWS by the credential providers of AWS's SDK, which is loaded when the first of them is needed. */
import {
  createCredentialChain,
  fromEnv,
  fromHttp,
  fromIni,
  fromInstanceMetadata,
  fromTemporaryCredentials,
  fromTokenFile,
} from "@aws-sdk/credential-providers";
import { errorMessage } from "../../lib/error-code.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { abortable } from "../../lib/tasks.ts";
import { sleep, withTimeout } from "../../lib/timers.ts";
import type { AwsKeys, CredentialContext, Issued, UpstreamResponse } from "../adapter.ts";
import { memberOf } from "../adapters/wire/members.ts";
import type { AwsAuth } from "./aws-auth.ts";
import { endProcessesWith } from "./aws-process.ts";
import {
  cleanDetail,
  metadataDelaysMs,
  metadataTimeoutMs,
  refused,
  temporary,
} from "./request-credential.ts";

type Provider = ReturnType<typeof fromEnv>;

interface SdkRequest {
  readonly method: string;
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly query: Readonly<Record<string, string | string[] | null>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** The session's name in CloudTrail. */
const defaultSessionName = "vexel";

export async function awsKeys(
  auth: AwsAuth,
  region: string,
  own: Partial<AwsKeys>,
  context: CredentialContext,
): Promise<Issued<AwsKeys>> {
  const handler = new RequestHandler(context);
  const clientConfig = { requestHandler: handler };
  const shared = {
    clientConfig,
    // Not in `clientConfig`: single sign-on has a region of its own.
    parentClientConfig: { ...clientConfig, region },
    logger: silent,
    // A profile may change while the gateway runs.
    ignoreCache: true,
  };
  const source = sourceOf(auth, own, shared, context);
  const { roleArn: RoleArn, externalId: ExternalId } = auth;
  const RoleSessionName = auth.sessionName ?? defaultSessionName;
  const provider =
    RoleArn === undefined
      ? source
      : fromTemporaryCredentials({
          masterCredentials: source,
          clientConfig: { ...clientConfig, region },
          params: { RoleArn, RoleSessionName, ...(ExternalId !== undefined && { ExternalId }) },
          logger: silent,
        });
  try {
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = await abortable(
      endProcessesWith(context.signal, () => provider()),
      context.signal,
    );
    return {
      value: { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) },
      ...(expiration && { lastsMs: expiration.getTime() - context.now() }),
    };
  } catch (error) {
    throw handler.unsent ?? toGatewayError(error, "AWS", handler.refusal);
  }
}

type Shared = NonNullable<Parameters<typeof fromIni>[0]>;

function sourceOf(
  { type, profile }: AwsAuth,
  own: Partial<AwsKeys>,
  shared: Shared,
  { env, signal }: CredentialContext,
): Provider {
  const web = () =>
    fromTokenFile({
      ...shared,
      roleSessionName: env.AWS_ROLE_SESSION_NAME || defaultSessionName,
    });
  const metadata = { maxRetries: 0, logger: silent };
  // A timeout of the SDK's would print a warning, and end nothing.
  const container = () =>
    retried(
      fromHttp({ ...metadata, timeout: 0 }),
      "the container credentials endpoint of AWS",
      signal,
    );
  const instance = () => {
    if (env.AWS_EC2_METADATA_DISABLED?.toLowerCase() === "true")
      throw refused("no AWS credentials: AWS_EC2_METADATA_DISABLED is set");
    // Without a session token (IMDSv2), the SDK would ask without one.
    const options = { ...metadata, timeout: metadataTimeoutMs, ec2MetadataV1Disabled: true };
    return retried(fromInstanceMetadata(options), "EC2's instance metadata service", signal);
  };
  switch (type) {
    case "default": {
      if (env.AWS_PROFILE) return fromIni(shared);
      const isContainer =
        env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI || env.AWS_CONTAINER_CREDENTIALS_FULL_URI;
      // The order of `fromNodeProviderChain`, whose error does not say what the last source responded.
      return createCredentialChain(
        fromEnv({ logger: silent }),
        fromIni(shared),
        web(),
        async (identity) => (isContainer ? container() : instance())(identity),
      );
    }
    case "profile":
      return fromIni({ ...shared, ...(profile !== undefined && { profile }) });
    case "web-identity":
      return web();
    case "container":
      return container();
    case "instance":
      return instance();
    case "access-key": {
      const { accessKeyId, secretAccessKey, sessionToken } = own;
      if (!accessKeyId || !secretAccessKey)
        throw refused("auth type access-key needs accessKeyId and secretAccessKey");
      const keys = { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
      return async () => keys;
    }
  }
}

/** Metadata services throttle each machine, and fail for moments while a role is assigned. */
const retried =
  (provider: Provider, service: string, signal: AbortSignal): Provider =>
  async (identity) => {
    for (const delayMs of [...metadataDelaysMs, undefined]) {
      try {
        const keys = await withTimeout(provider(identity), metadataTimeoutMs);
        if (keys) return keys;
        throw temporary(`${service}: no response`);
      } catch (error) {
        const described = toGatewayError(error, service);
        if (delayMs === undefined || described.kind !== "upstream_unreachable") throw described;
        await sleep(delayMs, signal);
      }
    }
    throw refused(service);
  };

const ignore = (): void => undefined;
/** Otherwise the SDK prints warnings to the console. */
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };

interface Refusal {
  readonly service: string;
  readonly status: number;
}

const services: Readonly<Record<string, string>> = {
  "/federation/credentials": "AWS IAM Identity Center",
  "/token": "AWS IAM Identity Center",
  "/v1/token": "AWS Sign-In",
};

/** The headers of a response that the SDK reads. */
const responseHeaders = ["content-type", "date", "x-amzn-errortype", "x-amzn-requestid"];

/**
 * Sends the SDK's requests to token services as all other requests to upstreams are sent: through proxies, bounded, and
 * guarded in connection tests. Its requests to metadata services do not come here.
 */
class RequestHandler {
  readonly metadata = { handlerProtocol: "http/1.1" };
  readonly #context: CredentialContext;
  /** The error of the last request, if it got no response. */
  unsent: GatewayError | undefined;
  /** The service that refused the last request. */
  refusal: Refusal | undefined;

  constructor(context: CredentialContext) {
    this.#context = context;
  }

  async handle(request: SdkRequest): Promise<{ response: object }> {
    const { method, path, headers, body } = request;
    [this.unsent, this.refusal] = [undefined, undefined];
    try {
      const { send, signal } = this.#context;
      const response = await send(
        {
          url: urlOf(request),
          headers: Object.fromEntries(
            Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
          ),
          ...(body !== undefined && method === "POST" && { body: Buffer.from(body).toString() }),
        },
        signal,
      );
      const { status: statusCode } = response;
      if (statusCode >= 300)
        this.refusal = { service: services[path] ?? "AWS STS", status: statusCode };
      return {
        response: { statusCode, headers: headersOf(response), body: await response.bytes() },
      };
    } catch (error) {
      if (error instanceof GatewayError) this.unsent = error;
      throw error;
    }
  }
}

function urlOf({ protocol, hostname, port, path, query }: SdkRequest): string {
  const url = new URL(`${protocol}//${hostname}${port === undefined ? "" : `:${port}`}${path}`);
  for (const [name, values] of Object.entries(query))
    for (const value of [values ?? ""].flat()) url.searchParams.append(name, value);
  return url.href;
}

const headersOf = ({ headers }: UpstreamResponse): Record<string, string> =>
  Object.fromEntries(
    responseHeaders.flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );

/** `service`: its name, for operators, if no request was refused. */
function toGatewayError(error: unknown, service: string, refusal?: Refusal): GatewayError {
  if (error instanceof GatewayError) return error;
  const text = reasonOf(error);
  const status = refusal?.status ?? statusIn(error, text);
  const name = error instanceof Error && !generalNames.test(error.name) ? `${error.name}: ` : "";
  const parts = [status === undefined ? "" : `status ${status}, `, name, text];
  const logDetail = `${refusal?.service ?? service}: ${cleanDetail(parts.join(""))}`;
  const isTemporary =
    status === undefined ? noResponse.test(text) : status === 429 || status >= 500;
  return isTemporary ? temporary(logDetail) : refused(logDetail);
}

const generalNames = /^(?:Type|Range)?Error$|(?:Provider|V1Fallback)Error$/;
const noResponse =
  /no session token|timeout|timed out|unable to connect|\bE(?:CONN|HOST|NET|TIMED)[A-Z]+|\b(?:ConnectionRefused|FailedToOpenSocket)\b/i;

const noToken = "it gave no session token";

/** Of metadata services, whose errors have a status in several ways. */
function statusIn(error: unknown, text: string): number | undefined {
  const member = memberOf(error, "statusCode");
  if (typeof member === "number") return member;
  const [, status] = /\bstatus: (\d{3})$/.exec(text) ?? [];
  return status === undefined ? undefined : Number(status);
}

/** The command of a profile, and what it prints, may have secrets. */
function reasonOf(error: unknown): string {
  const text = errorMessage(error);
  if (/^Command failed/.test(text)) return "credential_process failed";
  if (error instanceof Error && error.name === "InstanceMetadataV1FallbackError") return noToken;
  const [code, more] = [memberOf(error, "Code"), memberOf(error, "Message")];
  return typeof code === "string" && typeof more === "string" ? `${code}: ${more}` : text;
}
