/**
 * Metadata services give the identity of the machine to any program on it: requests to them go only to their own
 * addresses, or to those that the environment names, and no other request of a connection test reaches them.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { GatewayError } from "../../../server/lib/gateway-error.ts";
import type {
  CredentialContext,
  Environment,
  UpstreamRequest,
  Vendor,
} from "../../../server/upstream/adapter.ts";
import { bedrock } from "../../../server/upstream/adapters/amazon/bedrock.ts";
import { vertex } from "../../../server/upstream/adapters/google/vertex.ts";
import { guardLinkLocal } from "../../../server/upstream/download/index.ts";
import { temporaryFolder } from "../../harness.ts";
import { inEnvironment } from "./cloud-environment.ts";
import { containerCredentials, ec2Metadata } from "./fake-aws.ts";
import { appService, azureMetadata } from "./fake-azure.ts";
import { federation, gceMetadata } from "./fake-google.ts";
import { contextWith, type Respond, startService, stopServices } from "./fake-service.ts";

afterAll(stopServices);

function credentialOf({ adapter, kind }: Vendor, auth: object) {
  const own = { region: "eu-west-1", project: "p", location: "global", accessKeyId: "AKIA1" };
  const options = { ...own, secretAccessKey: "s", auth: kind.options.auth?.parse(auth) };
  const credential = adapter.credential?.({ id: "u", kind: kind.name, headers: {}, options });
  if (!credential) throw new Error("no credential");
  return credential;
}

const metadata = "http://169.254.169.254";

/** As in a connection test, with the requests to metadata services. */
function guarded(env: Environment) {
  const context = contextWith(env);
  const toMetadata: string[] = [];
  const sendToMetadata = async ({ url }: UpstreamRequest) => {
    toMetadata.push(url);
    throw new GatewayError("upstream_error", "no metadata service");
  };
  const isProxied = () => false;
  const resolve = async () => ["127.0.0.1"];
  const send = guardLinkLocal({ send: context.send, resolve, isProxied });
  return { toMetadata, context: { ...context, send, sendToMetadata } };
}

async function failing(
  vendor: Vendor,
  auth: object,
  env: Environment,
  context: CredentialContext,
): Promise<string> {
  const issuing = inEnvironment(env, () => credentialOf(vendor, auth).issue(context));
  const error = await issuing.catch((thrown: unknown) => thrown);
  if (!(error instanceof GatewayError)) throw new Error(`no error but ${JSON.stringify(error)}`);
  return error.details.logDetail ?? error.message;
}

describe("in a connection test", () => {
  test("only a federation's subject token comes from a metadata service, and not Google's own token", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "adc.json");
    const fetchFrom = async (change: object) => {
      const account = {
        type: "external_account",
        audience: federation.audience,
        subject_token_type: federation.subject,
        token_url: `${metadata}/token`,
        ...change,
      };
      writeFileSync(file, JSON.stringify(account));
      const { context, toMetadata } = guarded({});
      return [await failing(vertex, { type: "file", file }, {}, context), toMetadata];
    };
    const subject = `${metadata}/metadata/identity/oauth2/token?resource=api`;
    expect(await fetchFrom({ credential_source: { url: subject } })).toEqual([
      "no metadata service",
      // The library asks again.
      [subject, subject, subject],
    ]);
    writeFileSync(join(folder.path, "token"), "kube-1");
    const [reason, toMetadata] = await fetchFrom({
      credential_source: { file: join(folder.path, "token") },
    });
    expect(reason).toContain("169.254.169.254 is link-local");
    expect(toMetadata).toEqual([]);
  });

  test("a token service of AWS is never a metadata service", async () => {
    const env = { HOME: "/nonexistent", AWS_ENDPOINT_URL_STS: metadata };
    const { context, toMetadata } = guarded(env);
    const auth = { type: "access-key", roleArn: "arn:aws:iam::1:role/a" };
    expect(await failing(bedrock, auth, env, context)).toContain("link-local");
    expect(toMetadata).toEqual([]);
  });
});

test("keys of AWS come from no other host, whatever the environment says", async () => {
  for (const url of ["http://metadata.example/creds", "http://169.254.169.254/creds"]) {
    const env = { HOME: "/nonexistent", AWS_CONTAINER_CREDENTIALS_FULL_URI: url };
    const detail = await failing(bedrock, { type: "container" }, env, contextWith(env));
    expect(detail).toContain("must either be HTTPS or match");
  }
});

const services: readonly {
  readonly name: string;
  readonly kind: string;
  readonly auth: string;
  readonly respond: Respond;
  readonly env: (url: string) => Record<string, string>;
}[] = [
  {
    name: "EC2",
    kind: "bedrock",
    auth: "instance",
    respond: ec2Metadata("role"),
    env: (url) => ({ AWS_EC2_METADATA_SERVICE_ENDPOINT: url }),
  },
  {
    name: "ECS and EKS",
    kind: "bedrock",
    auth: "container",
    respond: containerCredentials(() => "a"),
    env: (url) => ({
      AWS_CONTAINER_CREDENTIALS_FULL_URI: url,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: "a",
    }),
  },
  {
    name: "Compute Engine",
    kind: "vertex",
    auth: "metadata",
    respond: gceMetadata,
    env: (url) => ({ GCE_METADATA_HOST: new URL(url).host }),
  },
  {
    name: "Azure's virtual machines",
    kind: "azure",
    auth: "managed-identity",
    respond: azureMetadata(),
    env: (url) => ({ AZURE_POD_IDENTITY_AUTHORITY_HOST: url }),
  },
  {
    name: "Azure's App Service",
    kind: "azure",
    auth: "managed-identity",
    respond: appService("header-1"),
    env: (url) => ({ IDENTITY_ENDPOINT: `${url}/msi/token`, IDENTITY_HEADER: "header-1" }),
  },
];

/** Issues the credentials of `argv`, as `vexel check` does. */
const program = `
import { createTransport, needsFetch } from "./server/upstream/transport/index.ts";
import { adapters } from "./server/upstream/adapters/index.ts";
const fetchOnly = needsFetch(process.env);
if (!fetchOnly.http) throw new Error("there is no proxy");
const { send, sendDirect, close } = createTransport({ maxResponseBytes: 1e6, clock: () => 0, fetchOnly });
const { signal } = new AbortController();
const context = { send, sendToMetadata: sendDirect, now: Date.now, env: process.env, signal };
for (const [kind, type] of JSON.parse(process.argv.at(-1))) {
  const options = { region: "eu-west-1", project: "p", location: "global", auth: { type } };
  const credential = adapters.get(kind).credential({ id: "u", kind, headers: {}, options });
  const { value } = await credential.issue(context);
  console.log(typeof value === "string" ? value : value.accessKeyId);
}
close();`;

test("no request to a metadata service goes through a proxy of the environment", async () => {
  const proxy = startService(() => new Response("a proxy", { status: 502 }));
  const proxied = { HTTP_PROXY: proxy.url, http_proxy: proxy.url, HTTPS_PROXY: proxy.url };
  const started = services.map((service) => ({ service, fake: startService(service.respond) }));
  const run = async (these: typeof started): Promise<string> => {
    const env = Object.assign({}, ...these.map(({ service, fake }) => service.env(fake.url)));
    const wanted = these.map(({ service }) => [service.kind, service.auth]);
    const child = Bun.spawn(
      [process.execPath, "--no-install", "-e", program, JSON.stringify(wanted)],
      { env: { PATH: process.env.PATH ?? "", HOME: "/nonexistent", ...proxied, ...env } },
    );
    return new Response(child.stdout).text();
  };
  const [first, last] = [started.slice(0, -1), started.slice(-1)];
  // Both of Azure's services are `managed-identity`.
  const printed = await Promise.all([run(first), run(last)]);
  expect(printed.join("").trim().split("\n")).toHaveLength(services.length);
  for (const { service, fake } of started)
    expect([service.name, fake.received.length > 0]).toEqual([service.name, true]);
  expect(proxy.received).toEqual([]);
});
