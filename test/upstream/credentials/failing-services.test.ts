/** Every service that gives credentials may throttle or hang: the operator learns which one did, and it may recover. */
import { afterAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { GatewayError } from "../../../server/lib/gateway-error.ts";
import type { Credential, Environment, Vendor } from "../../../server/upstream/adapter.ts";
import { bedrock } from "../../../server/upstream/adapters/amazon/bedrock.ts";
import { vertex } from "../../../server/upstream/adapters/google/vertex.ts";
import { azure } from "../../../server/upstream/adapters/microsoft/azure.ts";
import { temporaryFolder } from "../../harness.ts";
import { inEnvironment } from "./cloud-environment.ts";
import { containerCredentials, ec2Metadata, identityCenter, sts } from "./fake-aws.ts";
import { appService, azureIds, azureMetadata, entra } from "./fake-azure.ts";
import { federation, gceMetadata, googleSts } from "./fake-google.ts";
import { contextWith, json, type Respond, startService, stopServices } from "./fake-service.ts";

const home = temporaryFolder();
afterAll(async () => {
  await stopServices();
  home[Symbol.dispose]();
});

function fileWith(name: string, content: string): string {
  const path = join(home.path, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

interface Source {
  /** As errors name it. */
  readonly service: string;
  /** What an error says, if it is not the status. */
  readonly reason?: string;
  readonly vendor: Vendor;
  readonly auth: Record<string, unknown>;
  readonly respond: Respond;
  readonly env: (url: string) => Environment;
}

const token = fileWith("token", "kube-1");
fileWith(
  ".aws/config",
  "[profile p]\nsso_session = corp\nsso_account_id = 123456789012\nsso_role_name = Reader\n[sso-session corp]\nsso_region = eu-west-1\nsso_start_url = https://corp.awsapps.com/start\n",
);
fileWith(
  `.aws/sso/cache/${createHash("sha1").update("corp").digest("hex")}.json`,
  JSON.stringify({ accessToken: "sso-token", expiresAt: new Date(Date.now() + 3_600_000) }),
);
const { tenant: tenantId, client: clientId, secret: clientSecret } = azureIds;

const sources: readonly Source[] = [
  {
    service: "EC2",
    reason: "no session token",
    vendor: bedrock,
    auth: { type: "instance" },
    respond: ec2Metadata("role"),
    env: (url) => ({ AWS_EC2_METADATA_SERVICE_ENDPOINT: url }),
  },
  {
    service: "container",
    vendor: bedrock,
    auth: { type: "container" },
    respond: containerCredentials(() => "ecs-token"),
    env: (url) => ({
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/creds`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: "ecs-token",
    }),
  },
  {
    service: "AWS STS",
    vendor: bedrock,
    auth: { type: "web-identity" },
    respond: sts({ webIdentity: () => true }),
    env: (url) => ({
      AWS_WEB_IDENTITY_TOKEN_FILE: token,
      AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/gateway",
      AWS_ENDPOINT_URL_STS: url,
    }),
  },
  {
    service: "IAM Identity Center",
    vendor: bedrock,
    auth: { type: "profile", profile: "p" },
    respond: identityCenter("sso-token"),
    env: (url) => ({ AWS_ENDPOINT_URL_SSO: url }),
  },
  {
    service: "Entra ID",
    vendor: azure,
    auth: { type: "client-secret", tenantId, clientId, clientSecret },
    respond: entra(() => true),
    env: (url) => ({ AZURE_AUTHORITY_HOST: url }),
  },
  {
    service: "Azure's instance metadata service",
    vendor: azure,
    auth: { type: "managed-identity" },
    respond: azureMetadata(),
    env: (url) => ({ AZURE_POD_IDENTITY_AUTHORITY_HOST: url }),
  },
  {
    service: "Azure's managed identity endpoint",
    vendor: azure,
    auth: { type: "managed-identity" },
    respond: appService("header-1"),
    env: (url) => ({ IDENTITY_ENDPOINT: `${url}/msi/token`, IDENTITY_HEADER: "header-1" }),
  },
  {
    service: "metadata server",
    vendor: vertex,
    auth: { type: "metadata" },
    respond: gceMetadata,
    env: (url) => ({ GCE_METADATA_HOST: new URL(url).host }),
  },
  {
    service: "Google's STS",
    vendor: vertex,
    auth: { type: "default" },
    respond: googleSts(() => true),
    env: (url) => ({
      GOOGLE_APPLICATION_CREDENTIALS: fileWith(
        "adc.json",
        JSON.stringify({
          type: "external_account",
          audience: federation.audience,
          subject_token_type: federation.subject,
          token_url: `${url}/v1/token`,
          credential_source: { file: token },
        }),
      ),
    }),
  },
];

function credentialOf({ vendor, auth }: Source): Credential {
  const { adapter, kind } = vendor;
  const options = {
    region: "eu-west-1",
    project: "p",
    location: "global",
    auth: kind.options.auth?.parse(auth),
  };
  const credential = adapter.credential?.({ id: "u", kind: kind.name, headers: {}, options });
  if (!credential) throw new Error("no credential");
  return credential;
}

describe.each(sources.map((source) => [source.service, source] as const))(
  "%s",
  (service, source) => {
    const start = () => {
      const fake = startService(source.respond);
      const env = { HOME: home.path, ...source.env(fake.url) };
      const context = contextWith(env);
      const credential = credentialOf(source);
      const issue = (signal = context.signal) =>
        inEnvironment(env, () => credential.issue({ ...context, signal }));
      return { fake, issue };
    };

    test("that throttles every request is unreachable, by its name, and may recover", async () => {
      const { fake, issue } = start();
      fake.instead = () => json({ message: "Rate exceeded" }, 429);
      const error = await issue().catch((thrown: unknown) => thrown);
      if (!(error instanceof GatewayError))
        throw new Error(`no error but ${JSON.stringify(error)}`);
      expect([error.kind, error.details.logDetail]).toEqual([
        "upstream_unreachable",
        expect.stringContaining(service),
      ]);
      expect(error.details.logDetail).toContain(source.reason ?? "429");
      fake.instead = undefined;
      expect((await issue()).value).toBeDefined();
    });

    test("that hangs holds no request longer than its signal allows", async () => {
      const { fake, issue } = start();
      fake.instead = () => "hang";
      const stopping = new AbortController();
      const issuing = issue(stopping.signal);
      issuing.catch(() => undefined);
      while (fake.received.length === 0) await Bun.sleep(5);
      stopping.abort(new GatewayError("upstream_timeout", "stopped"));
      await expect(issuing).rejects.toThrow();
    });
  },
);
