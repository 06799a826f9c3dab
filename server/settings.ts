/** Process settings: one table, read once from the environment. A test compares docs/settings.md with it. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { roles } from "../contract/admin/roles.ts";
import { oidcProblem } from "./admin/sign-in/oidc/oidc-settings.ts";
import { parseAddressList } from "./lib/address-list.ts";
import { describeConstraint } from "./lib/zod-message.ts";
import { parseSentinelUrl } from "./storage/redis/sentinel.ts";

const text = z.string().default("");
const wholeNumber = (fallback: number, min = 0, max = Number.POSITIVE_INFINITY) =>
  z.coerce.number().int().min(min).max(max).default(fallback);
const bytes = (fallback: number) => wholeNumber(fallback, 1024);
const seconds = (fallback: number, min = 1) =>
  z.coerce.number().min(min).max(86_400).default(fallback);
const MiB = 1024 * 1024;
const isUrlOrEmpty = (text: string): boolean => text === "" || URL.canParse(text);
const specialCharacters =
  "must be a valid URL; percent-encode special characters of the user and the password, such as / as %2F";

const postgresUrl = z
  .string()
  .regex(/^(postgres(ql)?:\/\/\S+)?$/, "must be a postgres:// URL")
  .refine(isUrlOrEmpty, specialCharacters)
  .default("");

export const settingsTable = {
  PORT: wholeNumber(8080, 0, 65_535).describe("Port to listen on."),
  HOST: z
    .string()
    .min(1)
    .default("127.0.0.1")
    .describe("Address to listen on. `0.0.0.0` accepts connections from the network."),
  VEXEL_CONFIG: z
    .string()
    .min(1)
    .default("./vexel.yaml")
    .describe("The configuration file. The default may be absent; a file named here must exist."),
  VEXEL_DATA: z
    .string()
    .min(1)
    .default("./data")
    .describe(
      "Data folder: the ledger, API keys, temp files, stored images and responses and, with `VEXEL_CACHE_PERSIST=disk`, cached embeddings.",
    ),
  DATABASE_URL: postgresUrl.describe(
    "URL of a PostgreSQL database, such as `postgres://user:password@host/database`. Replicas that share it share API keys, configuration, users, sessions, the audit log, events and the ledger. Needs `VEXEL_SECRET`. Without it, they are in SQLite files in the data folder.",
  ),
  DATABASE_POOL_SIZE: wholeNumber(4, 3, 100).describe(
    "The most connections that a process opens to the database. A quarter of them serves the request list and the usage, also with `DATABASE_READ_URL`.",
  ),
  DATABASE_READ_URL: postgresUrl.describe(
    "URL of a read replica (hot standby) of the database, from which the request list and the usage of the admin API and the console are read.",
  ),
  REDIS_URL: z
    .string()
    .regex(
      /^(((redis|valkey)s?|rediss?\+sentinel):\/\/\S+)?$/,
      "must be a redis://, rediss://, redis+sentinel:// or rediss+sentinel:// URL",
    )
    .refine(
      (url) => (url.includes("+sentinel:") ? parseSentinelUrl(url) : isUrlOrEmpty(url)),
      `${specialCharacters}; with Sentinel, name the primary: redis+sentinel://host1:26379,host2:26379/mymaster`,
    )
    .default("")
    .describe(
      "URL of a Redis or Valkey server, such as `redis://user:password@host:6379/0`, or `rediss://` with TLS, or of sentinels: `redis+sentinel://host1:26379,host2:26379/mymaster`. Replicas that share it share rate limits, concurrency limits, idempotency keys in use and cached embeddings; with `DATABASE_URL` also budgets. Without it, each process counts for itself.",
    ),
  BLOB_URL: z
    .string()
    .regex(/^(s3:\/\/\S+)?$/, "must be an s3:// URL")
    .default("")
    .describe(
      "URL of an S3 bucket, such as `s3://bucket/prefix?endpoint=https://minio.internal:9000`. Replicas that share it share images behind links, stored responses and stored content. Needs `VEXEL_SECRET`. Without it, they are in the data folder.",
    ),
  VEXEL_WORKERS: wholeNumber(1, 1, 256).describe(
    "Number of worker processes that share the port. More than 1 needs `DATABASE_URL` and, with rate limits, budgets or image models other than the built-in ones, `REDIS_URL`.",
  ),
  VEXEL_LOG_LEVEL: z
    .enum(["debug", "info", "warn", "error", "silent"])
    .default("info")
    .describe("Lowest level that is logged."),
  VEXEL_LOG_FORMAT: z
    .enum(["auto", "text", "json"])
    .default("auto")
    .describe(
      "`auto`: readable lines on a terminal, JSON otherwise. `json`: also no startup message, and no API key is created at the first start, because a program reads the output and may store it.",
    ),
  VEXEL_METRICS_PORT: wholeNumber(0, 0, 65_535).describe(
    "Port for metrics (`GET /metrics`) alone, on the address `HOST`. 0: none.",
  ),
  VEXEL_METRICS_TOKEN: z
    .string()
    .regex(/^([\x21-\x7e]{16,4096})?$/, "must have at least 16 characters and no spaces")
    .default("")
    .describe(
      "Token that opens metrics (`GET /metrics`) on `PORT`, and is needed on `VEXEL_METRICS_PORT` too. At least 16 characters. Without it, `PORT` serves no metrics, and `VEXEL_METRICS_PORT` needs no token.",
    ),
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .string()
    .regex(/^(https?:\/\/\S+)?$/i, "must be an http:// or https:// URL")
    .default("")
    .describe(
      "Base URL of an OpenTelemetry collector that receives traces and metrics over OTLP/HTTP, such as `http://collector:4318`.",
    ),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .enum(["http/json", "http/protobuf"])
    .default("http/json")
    .describe("Encoding of exported traces and metrics."),
  OTEL_METRICS_EXPORTER: z
    .enum(["otlp", "none"])
    .default("otlp")
    .describe("`none`: the collector gets no metrics."),
  OTEL_TRACES_SAMPLER: z
    .enum([
      "parentbased_traceidratio",
      "parentbased_always_on",
      "parentbased_always_off",
      "traceidratio",
      "always_on",
      "always_off",
    ])
    .default("parentbased_traceidratio")
    .describe(
      "Which requests are traced. `parentbased_…` follows the client, if it sent a `traceparent`. Requests that end with a status from 500 are traced as well, up to 50 each second.",
    ),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(0.01)
    .describe("The share of requests that `traceidratio` samples, from 0 to 1."),
  VEXEL_TLS_CERT: text.describe(
    "File with the TLS certificate, in PEM format. Without it, Vexel serves plain HTTP.",
  ),
  VEXEL_TLS_KEY: text.describe("File with the private key of the TLS certificate, in PEM format."),
  VEXEL_PUBLIC_URL: z
    .string()
    .regex(/^(https?:\/\/[^\s?#]+)?$/i, "must be an http:// or https:// URL")
    .default("")
    .describe(
      "URL under which clients reach the gateway, for image links and invitations. Without it, the URL of the request is used.",
    ),
  VEXEL_TRUSTED_PROXIES: z
    .string()
    .refine(
      (text) => parseAddressList(text) !== undefined,
      "must be IP addresses and networks, separated by commas, such as 10.0.0.0/8, 192.168.1.7",
    )
    .default("")
    .describe(
      "IP addresses and networks (CIDR) of reverse proxies, separated by commas. The client's address is taken from their `X-Forwarded-For`, for log lines, the audit log and the limit of failed sign-ins, and the scheme of links from their `X-Forwarded-Proto`.",
    ),
  VEXEL_CORS_ORIGINS: text.describe(
    "Origins that browsers may send requests from (CORS), separated by commas, or `*`.",
  ),
  VEXEL_ADMIN_TOKEN: z
    .string()
    .regex(/^([\x21-\x7e]{16,4096})?$/, "must have at least 16 characters and no spaces")
    .default("")
    .describe(
      "Admin token: opens the admin API (`/admin/api`) for scripts, with all rights. At least 16 characters.",
    ),
  VEXEL_SECRET: z
    .string()
    .regex(
      /^([\x21-\x2b\x2d-\x7e]{16,4096})?$/,
      "must have at least 16 characters, no spaces and no commas",
    )
    .default("")
    .describe(
      "Secret that protects stored credentials, such as the API keys of stored upstreams, and signs image links: the keys for both are derived from it. At least 16 characters; use a random text. Without it, Vexel generates the keys `secret.key` and `links.secret` in the data folder.",
    ),
  VEXEL_SECRET_PREVIOUS: z
    .string()
    .regex(
      /^([\x21-\x7e]{16,4096})?$/,
      "must be earlier values of VEXEL_SECRET, separated by commas",
    )
    .default("")
    .describe(
      "Earlier values of `VEXEL_SECRET`, separated by commas. They decrypt stored secrets until `vexel config reencrypt` has run, decrypt stored content, and verify image links that were signed with them.",
    ),
  VEXEL_END_USERS: z
    .enum(["hashed", "plain"])
    .default("hashed")
    .describe(
      "How the ledger stores the end user of a request (`user`, `safety_identifier`): as a hash with a key derived from `VEXEL_SECRET`, or `plain`, as the client sent it.",
    ),
  VEXEL_CONSOLE: z
    .enum(["on", "off"])
    .default("on")
    .describe(
      "Whether the console (`/console`) is served and users can sign in to it. `off`: there are no sessions, and only the admin token opens the admin API (`/admin/api`).",
    ),
  VEXEL_CONSOLE_HOSTS: z
    .string()
    .regex(
      /^([\w.-]+(\s*,\s*[\w.-]+)*)?$/,
      "must be host names without ports, separated by commas, such as vexel.example.com",
    )
    .default("")
    .describe(
      "Host names under which browsers may open the console and the admin API, separated by commas. The host of `VEXEL_PUBLIC_URL`, `localhost` and IP addresses are always allowed. Without it, any host is.",
    ),
  VEXEL_OIDC_ISSUER: text.describe(
    "URL of the OpenID Connect issuer, such as `https://accounts.google.com`. Without it, users sign in to the console with passwords only.",
  ),
  VEXEL_OIDC_CLIENT_ID: text.describe("Client id of Vexel at the issuer."),
  VEXEL_OIDC_CLIENT_SECRET: text.describe("Client secret. Without it, Vexel is a public client."),
  VEXEL_OIDC_NAME: z
    .string()
    .min(1)
    .max(60)
    .default("OpenID Connect")
    .describe("Name of the issuer on the button of the sign-in page."),
  VEXEL_OIDC_SCOPES: z
    .string()
    .regex(/^openid\b/, "must begin with openid")
    .default("openid email profile")
    .describe("Scopes that are requested, separated by spaces."),
  VEXEL_OIDC_DOMAINS: text.describe(
    "E-mail domains whose users may sign in, separated by commas, or `*`. Required unless `VEXEL_OIDC_REQUIRED` is set.",
  ),
  VEXEL_OIDC_TRUST_EMAIL: z
    .enum(["on", "off"])
    .default("off")
    .describe(
      "Whether e-mail addresses count as verified if the issuer, like Microsoft Entra ID, sends no `email_verified`.",
    ),
  VEXEL_OIDC_CLAIM: z
    .string()
    .min(1)
    .default("groups")
    .describe(
      "Claim with the groups or roles of a user. Dots lead into objects: `realm_access.roles`.",
    ),
  VEXEL_OIDC_REQUIRED: text.describe(
    "Values of the claim, separated by commas. Only users with one of them may sign in.",
  ),
  VEXEL_OIDC_ROLES: text.describe(
    "Roles by values of the claim, as `VALUE=ROLE`, separated by commas. The highest role applies, at every sign-in. Without it, administrators set the roles in the console.",
  ),
  VEXEL_OIDC_ROLE: z
    .enum(["none", ...roles])
    .default("viewer")
    .describe("Role of users without a mapped role. `none`: they may not sign in."),
  VEXEL_OIDC_PROJECTS: text.describe(
    "Projects by values of the claim, as `VALUE=PROJECT`, separated by commas; `VALUE=*` for all projects. They apply at every sign-in. Without it, administrators set the projects in the console; a new user has none.",
  ),
  VEXEL_MAX_BODY_BYTES: bytes(8 * MiB).describe(
    "Body size limit: the maximum size of a JSON request body, without the images of an edit or of an embeddings request.",
  ),
  VEXEL_JSON_MEMORY_BYTES: bytes(256 * MiB).describe(
    "Maximum memory for the JSON bodies of all requests in flight, shared among API keys.",
  ),
  VEXEL_RESPONSE_MEMORY_BYTES: bytes(512 * MiB).describe(
    "Maximum memory for large embeddings responses and lists of all requests in flight, shared among API keys.",
  ),
  VEXEL_MAX_FILE_BYTES: bytes(50 * MiB).describe("Maximum size of an uploaded file."),
  VEXEL_MAX_UPLOAD_BYTES: bytes(512 * MiB).describe(
    "Maximum size of a multipart form, all parts together, such as a file of `/v1/files`, and of the images of an embeddings request.",
  ),
  VEXEL_TEMP_STORAGE_BYTES: bytes(4096 * MiB).describe(
    "Maximum disk space for the temp files of all requests (uploads and large upstream responses), shared among API keys.",
  ),
  VEXEL_MAX_INPUTS: wholeNumber(2048, 1, 100_000).describe(
    "Maximum number of inputs in one embeddings request. OpenAI allows 2048.",
  ),
  VEXEL_MAX_CONCURRENT: wholeNumber(4096, 1).describe(
    "Maximum number of requests in flight, including queued requests.",
  ),
  VEXEL_MAX_CONNECTIONS: wholeNumber(0, 0, 1_000_000).describe(
    "Maximum number of client connections, including idle ones. 0: as many as the limit of open files allows, up to 10000.",
  ),
  VEXEL_MAX_IMAGE_REQUESTS: wholeNumber(256, 1).describe(
    "Maximum number of image requests in progress, so that capacity for embeddings is left.",
  ),
  VEXEL_MAX_QUEUE: wholeNumber(1000, 0, 100_000).describe(
    "Maximum number of requests queued for a concurrency slot. 0: no queue; a request without a free slot gets 429.",
  ),
  VEXEL_QUEUE_TIMEOUT: seconds(5, 0).describe(
    "Maximum seconds that an embeddings request waits in the queue for a concurrency slot. An image request waits up to 30 seconds.",
  ),
  VEXEL_BODY_TIMEOUT: seconds(120).describe(
    "Seconds without a byte after which a request body times out. A body must also deliver 16 KiB per second on average, once the gateway has waited that long for it.",
  ),
  VEXEL_EMBEDDINGS_TIMEOUT: seconds(120).describe("Timeout of an embeddings request in seconds."),
  VEXEL_IMAGES_TIMEOUT: seconds(600).describe("Timeout of an image request in seconds."),
  VEXEL_RESPONSE_TTL: seconds(3600).describe(
    "Seconds for which a response is stored for a retry with the same Idempotency-Key, or for a client that disconnected.",
  ),
  VEXEL_IMAGE_JOB_TIMEOUT: seconds(3600).describe(
    "Seconds after which an image job that has not ended fails.",
  ),
  VEXEL_JOBS_TTL: seconds(86_400).describe(
    "Seconds for which a job is stored after its end, with its results.",
  ),
  VEXEL_JOBS_MAX_BYTES: bytes(10 * 1024 * MiB).describe(
    "Maximum size of the input and the results of all stored jobs, of which at most 10,000 may be unfinished. One project may use half of both.",
  ),
  VEXEL_RESPONSES_MAX_BYTES: bytes(1024 * MiB).describe("Maximum disk space for stored responses."),
  VEXEL_CONTENT_MAX_BYTES: bytes(1024 * MiB).describe(
    "Maximum disk space for the stored content of requests, of models with storeContent; with BLOB_URL, in the object store.",
  ),
  // The timeout of embeddings requests: each ends by itself.
  VEXEL_DRAIN_TIMEOUT: seconds(120, 0).describe(
    "Maximum seconds to wait for requests in flight at shutdown. Image requests that were sent to an upstream are finished, however long they take.",
  ),
  VEXEL_CACHE_BYTES: wholeNumber(8 * MiB).describe("Memory for the embedding cache. 0: no cache."),
  VEXEL_CACHE_PERSIST: z
    .enum(["memory", "disk"])
    .default("memory")
    .describe(
      "Where cached embeddings are stored: `memory`, until the gateway stops; `disk`, in memory and on disk, across restarts.",
    ),
  VEXEL_CACHE_TTL: wholeNumber(0).describe(
    "Seconds after which a cached embedding expires. 0: never.",
  ),
  VEXEL_CACHE_REDIS_TTL: wholeNumber(86_400).describe(
    "With `REDIS_URL`: seconds for which embeddings are also cached in Redis, for all replicas. 0: embeddings are cached by each replica only.",
  ),
  VEXEL_BATCH_WAIT_MS: wholeNumber(25, 0, 1000).describe(
    "Maximum milliseconds that a small embeddings request waits for a micro-batch while its target is busy. 0: micro-batching is off.",
  ),
  VEXEL_CANARY_HOURS: wholeNumber(6, 0, 8760).describe(
    "Hours between two drift checks, which compare the vectors of all targets of an embedding model. 0: no drift checks.",
  ),
  VEXEL_ON_LEDGER_ERROR: z
    .enum(["refuse", "serve"])
    .default("refuse")
    .describe(
      "When the ledger cannot be written: `refuse` requests (503), or `serve` them and report it in the header `vexel-ledger` and the log.",
    ),
  VEXEL_LEDGER_DAYS: wholeNumber(365).describe(
    "Retention: days for which a ledger row is kept. 0: forever.",
  ),
  VEXEL_LEDGER_EXPORT: z
    .enum(["off", "on"])
    .default("off")
    .describe(
      "`on`: the ledger rows of each hour are exported from `DATABASE_URL` to `BLOB_URL`, and deleted only after that.",
    ),
  VEXEL_LEDGER_EXPORT_PERCENT: wholeNumber(100, 1, 100).describe(
    "The share of the ledger rows that is exported, a random sample of the requests. Sums count every request.",
  ),
  VEXEL_AUDIT_DAYS: wholeNumber(365).describe(
    "Days for which an entry of the audit log is kept. 0: forever.",
  ),
  VEXEL_LEDGER_MAX_BYTES: wholeNumber(0).describe(
    "Maximum size of `ledger.db`, or with `DATABASE_URL` of `backlog.db`. Above it, the ledger cannot be written, as with a full disk. 0: no limit.",
  ),
  VEXEL_IMAGE_TTL: seconds(3600).describe("Seconds for which the link to a stored image works."),
  VEXEL_IMAGES_MAX_BYTES: bytes(1024 * MiB).describe("Maximum disk space for stored images."),
  VEXEL_FILES_MAX_BYTES: bytes(32 * 1024 * MiB).describe(
    "Maximum size of all files of `/v1/files`, results of batches included. One project, or one API key without a project, may use half of it. With `BLOB_URL`, in the object store.",
  ),
  VEXEL_FILES_DAYS: wholeNumber(30).describe(
    "Days for which the input and output files of batches are kept, unless the request says otherwise. 0: until they are deleted.",
  ),
  VEXEL_BATCH_MAX_BYTES: bytes(200 * MiB).describe("Maximum size of the input file of a batch."),
  VEXEL_BATCH_MAX_LINES: wholeNumber(50_000, 1).describe(
    "Maximum number of lines of a batch, of blank lines beside them, and of the embeddings inputs of all lines together. A repeated `custom_id` is found among the first 100,000.",
  ),
  VEXEL_DOWNLOAD_PRIVATE: text.describe(
    "Private hosts that images may be downloaded from, as `host` or `host:port`, separated by commas. The upstream's own is always allowed.",
  ),
  VEXEL_WEBHOOK_PRIVATE: text.describe(
    "Private hosts that webhook endpoints of clients may have, also with http, as `host` or `host:port`, separated by commas.",
  ),
  VEXEL_SMTP_URL: z
    .string()
    .regex(/^(smtps?:\/\/\S+)?$/, "must be an smtp:// or smtps:// URL")
    .refine(isUrlOrEmpty, specialCharacters)
    .default("")
    .describe(
      "URL of the mail server for alerts and other events by e-mail, such as `smtp://user:password@mail.example:587`, or `smtps://` with TLS from the start.",
    ),
  VEXEL_SMTP_FROM: z
    .string()
    .regex(/^[^\s@<>]+@[^\s@<>]+$/, "must be an e-mail address")
    .default("vexel@localhost")
    .describe("E-mail address that events come from."),
} as const satisfies Record<string, z.ZodType>;

const schema = z.object(settingsTable);
export type Settings = Readonly<z.infer<typeof schema>>;

export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

/** Settings whose value must appear neither on a screen nor in a log. */
export const secretSettings: ReadonlySet<string> = new Set([
  "BLOB_URL",
  "DATABASE_READ_URL",
  "DATABASE_URL",
  "REDIS_URL",
  "VEXEL_ADMIN_TOKEN",
  "VEXEL_METRICS_TOKEN",
  "VEXEL_OIDC_CLIENT_SECRET",
  "VEXEL_SECRET",
  "VEXEL_SECRET_PREVIOUS",
  "VEXEL_SMTP_URL",
] satisfies (keyof Settings)[]);

/** A secret may be in a file, such as a mounted one: this variable has its path. */
export const fileVariableOf = (name: string): string => `${name}_FILE`;

type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** The value of a setting. An empty variable counts as unset: `PORT= npm start` is the shell's way to unset one. */
function givenValue(env: EnvironmentVariables, name: string): string | undefined {
  const value = env[name] || undefined;
  const variable = fileVariableOf(name);
  const path = secretSettings.has(name) && env[variable];
  if (!path) return value;
  if (value !== undefined) throw new SettingsError(`Set ${name} or ${variable}, not both.`);
  const content = readSecretFile(path, variable);
  // Not the same as unset: the file may be mounted later, and a gateway without its secret would serve everyone.
  if (content === "") {
    throw new SettingsError(
      `${variable}: the file ${path} is empty. Write the value into it, or unset ${variable}.`,
    );
  }
  return content;
}

function readSecretFile(path: string, variable: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SettingsError(`${variable} cannot be read: ${reason}`);
  }
}

const displayedValue = (name: string, given: EnvironmentVariables): string =>
  secretSettings.has(name) ? "(a hidden value)" : JSON.stringify(given[name]);

/** Throws SettingsError. */
export function readSettings(env: EnvironmentVariables): Settings {
  const given = Object.fromEntries(
    Object.keys(settingsTable).map((name) => [name, givenValue(env, name)]),
  );
  const parsed = schema.safeParse(given);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      (issue) =>
        `${issue.path.join(".")}=${displayedValue(String(issue.path[0]), given)}: ${describeIssue(issue)}`,
    );
    throw new SettingsError(problems.join("\n"));
  }
  const settings = parsed.data;
  const problem = oidcProblem(settings) ?? combinationProblem(settings);
  if (problem) throw new SettingsError(problem);
  return Object.freeze(settings);
}

/** Why settings that are valid one by one cannot be used together. */
function combinationProblem(settings: Settings): string | undefined {
  const shared = (["DATABASE_URL", "BLOB_URL"] as const).find((name) => settings[name] !== "");
  if (shared !== undefined && settings.VEXEL_SECRET === "")
    return `${shared} is set without VEXEL_SECRET. Gateways that share storage encrypt stored credentials and sign image links with the same secret: set VEXEL_SECRET to the same random text for all of them.`;
  if (settings.VEXEL_WORKERS > 1 && settings.DATABASE_URL === "")
    return "VEXEL_WORKERS is greater than 1 without DATABASE_URL. Several processes cannot share the keys and the ledger of one data folder: set DATABASE_URL, or VEXEL_WORKERS=1.";
  if (settings.DATABASE_READ_URL !== "" && settings.DATABASE_URL === "")
    return "DATABASE_READ_URL is set without DATABASE_URL. A read replica serves queries of the console only: set DATABASE_URL to its primary.";
  const isExportComplete = settings.DATABASE_URL !== "" && settings.BLOB_URL !== "";
  if (settings.VEXEL_LEDGER_EXPORT === "on" && !isExportComplete)
    return "VEXEL_LEDGER_EXPORT is on without DATABASE_URL or BLOB_URL. The export reads the ledger from the one and writes to the other: set both, or VEXEL_LEDGER_EXPORT=off.";
  const { VEXEL_TLS_CERT: cert, VEXEL_TLS_KEY: key } = settings;
  const tlsHint = "HTTPS needs both; plain HTTP needs neither.";
  if (cert === "" && key !== "") return `VEXEL_TLS_KEY is set without VEXEL_TLS_CERT. ${tlsHint}`;
  if (cert !== "" && key === "") return `VEXEL_TLS_CERT is set without VEXEL_TLS_KEY. ${tlsHint}`;
  return undefined;
}

function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code !== "invalid_type") return describeConstraint(issue);
  return issue.expected === "int" ? "must be a whole number." : "must be a number.";
}
