/** The upstream of an entry of LiteLLM: the kind, the address and the credential. */
import { existsSync, readFileSync } from "node:fs";
import { secretFieldsOf } from "../../../server/config/entities/secret-fields.ts";
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { kinds } from "../../../server/upstream/kinds.ts";
import { Secret } from "../plan.ts";
import type { SubjectReport } from "../report.ts";
import { providers } from "./providers.ts";
import { objectOf } from "./source.ts";

/** The parameters of an entry that have not been used yet. What remains is reported as dropped. */
export class Parameters {
  readonly #left: Map<string, unknown>;

  constructor(given: JsonObject) {
    this.#left = new Map(Object.entries(given).filter(([, value]) => isSet(value)));
  }

  peek(name: string): unknown {
    return this.#left.get(name);
  }

  take(name: string): unknown {
    const value = this.#left.get(name);
    this.#left.delete(name);
    return value;
  }

  takeText(name: string): string | undefined {
    const value = this.take(name);
    return value === undefined ? undefined : String(value);
  }

  get left(): readonly string[] {
    return [...this.#left.keys()];
  }
}

const isSet = (value: unknown): boolean => value !== null && value !== undefined && value !== "";

const variable = /^os\.environ\/(.+)$/;

/** A text of LiteLLM's configuration: `os.environ/NAME` is a variable. */
export function secretOf(text: string): Secret {
  const [, name] = variable.exec(text) ?? [];
  return name === undefined ? Secret.ofText(text) : Secret.ofVariable(name);
}

/** A text that is no secret: it stays readable, unless it is a variable. */
const plainOf = (text: string): string | Secret => (variable.test(text) ? secretOf(text) : text);

type Upstream = JsonObject & { readonly kind: string };

/** Undefined if Vexel has no such kind, which was reported. */
export function planUpstream(
  provider: string,
  params: Parameters,
  report: SubjectReport,
): Upstream | undefined {
  const known = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  if (!known) {
    report.dropped("model", `Vexel has no kind for LiteLLM's provider "${provider}"`);
    return undefined;
  }
  const address =
    addressOf(params) ?? known.baseUrl ?? fallbackAddress(provider, known.kind, report);
  const kind = kindFor(known.kind, address);
  const key = keyOf(kind, params.takeText("api_key"), known.variable, address, report);
  return {
    kind,
    ...(address !== undefined && { baseUrl: baseUrlFor(kind, address, report) }),
    ...(key && { apiKey: key }),
    ...headersOf(params, report),
    ...optionsOf(kind, key !== undefined, params, report),
  };
}

const addressOf = (params: Parameters): string | undefined => {
  const base = params.takeText("api_base");
  const url = params.takeText("base_url");
  return base ?? url;
};

/** The variable that LiteLLM reads if an entry has no address, and the kind needs one. */
function fallbackAddress(
  provider: string,
  kind: string,
  report: SubjectReport,
): string | undefined {
  if (!kinds.get(kind)?.needs.includes("baseUrl")) return undefined;
  const name = `${provider.toUpperCase()}_API_BASE`;
  report.approximated("api_base", `baseUrl: the entry has none, and LiteLLM reads ${name}`);
  return `os.environ/${name}`;
}

/** Another server behind the provider "openai" or "huggingface" has a kind of its own. */
function kindFor(kind: string, address: string | undefined): string {
  if (address === undefined) return kind;
  if (kind === "openai" && !address.startsWith("https://api.openai.com"))
    return "openai-compatible";
  return kind === "huggingface" ? "tei" : kind;
}

function baseUrlFor(kind: string, address: string, report: SubjectReport): string | Secret {
  if (variable.test(address)) {
    report.carried("api_base", "baseUrl");
    return secretOf(address);
  }
  const known = kinds.get(kind)?.baseUrl;
  if (known === undefined || address.startsWith(known) || isOpenAiLike(kind))
    report.carried("api_base", `baseUrl: ${withoutSecrets(address)}`);
  else
    report.approximated(
      "api_base",
      `baseUrl: ${withoutSecrets(address)}. LiteLLM may add another path than Vexel: test the connection`,
    );
  const baseUrl = address.replace(/\/(?:embeddings|images\/generations|v[12]\/embed)\/?$/, "");
  return withoutSecrets(baseUrl) === baseUrl ? baseUrl : Secret.ofText(baseUrl);
}

/** Without a user, a password and parameters, which may be secrets. */
const withoutSecrets = (address: string): string =>
  address.replace(/\/\/[^/@]*@/, "//").replace(/\?.*$/, "");

const isOpenAiLike = (kind: string): boolean => "base64" in (kinds.get(kind)?.options ?? {});

/** The credential of the entry, or the variable that LiteLLM reads without one. */
function keyOf(
  kind: string,
  given: string | undefined,
  fallback: string | undefined,
  address: string | undefined,
  report: SubjectReport,
): Secret | undefined {
  if (given !== undefined) {
    const secret = secretOf(given);
    if (secret.variable === undefined)
      report.carried("api_key", "apiKey, stored encrypted (--yaml: a variable)");
    else
      report.approximated(
        "api_key",
        `apiKey, the value that ${secret.variable} has during the import, stored encrypted (--yaml: \${${secret.variable}})`,
      );
    return secret;
  }
  const isNeeded = kinds.get(kind)?.needs.includes("apiKey") ?? false;
  if (fallback === undefined || (!isNeeded && address !== undefined)) return undefined;
  if (!isNeeded && kind !== "azure" && kind !== "azure-ai") return undefined;
  report.approximated("api_key", `apiKey: the entry has none, and LiteLLM reads ${fallback}`);
  return Secret.ofVariable(fallback);
}

function headersOf(params: Parameters, report: SubjectReport): { headers?: JsonObject } {
  const organization = params.takeText("organization");
  if (organization !== undefined) report.carried("organization", "header OpenAI-Organization");
  const extra = objectOf(params.take("extra_headers"));
  if (Object.keys(extra).length > 0) report.carried("extra_headers", "headers");
  const headers = {
    ...(organization !== undefined && { "OpenAI-Organization": secretOf(organization) }),
    ...Object.fromEntries(
      Object.entries(extra).map(([name, value]) => [name, secretOf(String(value))]),
    ),
  };
  return Object.keys(headers).length === 0 ? {} : { headers };
}

/** Options of kinds: LiteLLM's name of each. */
const optionNames: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  azure: { api_version: "apiVersion" },
  "azure-ai": { api_version: "apiVersion" },
  bedrock: {
    aws_region_name: "region",
    aws_access_key_id: "accessKeyId",
    aws_secret_access_key: "secretAccessKey",
    aws_session_token: "sessionToken",
  },
  sagemaker: {
    aws_region_name: "region",
    aws_access_key_id: "accessKeyId",
    aws_secret_access_key: "secretAccessKey",
    aws_session_token: "sessionToken",
  },
  vertex: {
    vertex_project: "project",
    vertex_location: "location",
    vertex_credentials: "serviceAccount",
  },
  watsonx: { project_id: "projectId", space_id: "spaceId" },
  oci: {
    oci_region: "region",
    oci_compartment_id: "compartmentId",
    oci_tenancy: "tenancy",
    oci_user: "user",
    oci_fingerprint: "fingerprint",
    oci_key: "privateKey",
  },
};

const secretOptions: ReadonlySet<string> = new Set([...secretFieldsOf("upstream"), "accessKeyId"]);

function optionsOf(
  kind: string,
  hasKey: boolean,
  params: Parameters,
  report: SubjectReport,
): JsonObject {
  const options: Record<string, unknown> = {};
  for (const [theirs, ours] of Object.entries(optionNames[kind] ?? {})) {
    const value = params.takeText(theirs);
    if (value === undefined) continue;
    const text = ours === "serviceAccount" ? fileText(value) : value;
    options[ours] = secretOptions.has(ours) ? secretOf(text) : plainOf(text);
    report.carried(theirs, ours);
  }
  const hasCredential = hasKey || "accessKeyId" in options || "serviceAccount" in options;
  return { ...options, ...authOf(kind, hasCredential, params, report) };
}

/** LiteLLM takes the JSON of a service account, or the path of a file with it. */
const fileText = (value: string): string =>
  !value.trim().startsWith("{") && existsSync(value) ? readFileSync(value, "utf8") : value;

/** Identities that the cloud gives. */
function authOf(
  kind: string,
  hasCredential: boolean,
  params: Parameters,
  report: SubjectReport,
): JsonObject {
  if (kind === "azure" || kind === "azure-ai") {
    const tenantId = params.takeText("tenant_id");
    const clientId = params.takeText("client_id");
    const clientSecret = params.takeText("client_secret");
    if (tenantId === undefined || clientId === undefined || clientSecret === undefined) return {};
    report.carried("tenant_id, client_id, client_secret", "auth of type client-secret");
    return {
      auth: {
        type: "client-secret",
        tenantId: plainOf(tenantId),
        clientId: plainOf(clientId),
        clientSecret: secretOf(clientSecret),
      },
    };
  }
  if (kind !== "bedrock" && kind !== "sagemaker" && kind !== "vertex") return {};
  const role = params.takeText("aws_role_name");
  if (role !== undefined) {
    report.carried("aws_role_name", "auth.roleArn");
    return { auth: { type: "default", roleArn: plainOf(role) } };
  }
  if (hasCredential) return {};
  report.approximated(
    "credentials",
    "auth of type default: the entry has none, and LiteLLM finds them",
  );
  return { auth: { type: "default" } };
}
