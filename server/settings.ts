/** Process settings: one table, read once from the environment. docs/settings.md is held to it by a test. */
import { z } from "zod";

const bytes = (fallback: number) => z.coerce.number().int().min(1024).default(fallback);
const seconds = (fallback: number, min = 1) =>
  z.coerce.number().min(min).max(86_400).default(fallback);
const MiB = 1024 * 1024;

export const settingsTable = {
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080).describe("Port to listen on."),
  HOST: z
    .string()
    .min(1)
    .default("127.0.0.1")
    .describe("Address to listen on. `0.0.0.0` opens it to the network."),
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
      "Folder for the ledger, the keys, spooled uploads, stored pictures and, where they are kept, known vectors.",
    ),
  VEXEL_LOG_LEVEL: z
    .enum(["debug", "info", "warn", "error", "silent"])
    .default("info")
    .describe("The least important log line that is written."),
  VEXEL_LOG_FORMAT: z
    .enum(["auto", "text", "json"])
    .default("auto")
    .describe("`auto`: readable lines on a terminal, JSON otherwise."),
  VEXEL_PUBLIC_URL: z
    .string()
    .regex(/^(https?:\/\/[^\s?#]+)?$/, "must be an http(s) address")
    .default("")
    .describe("Where callers reach the gateway; used in picture links. Empty: as the caller did."),
  VEXEL_CORS_ORIGINS: z
    .string()
    .default("")
    .describe("Origins that browsers may call from, separated by commas, or `*`. Empty: none."),
  VEXEL_ADMIN_KEY: z
    .string()
    .regex(/^([\x21-\x7e]{16,4096})?$/, "it must have at least 16 characters, and no spaces")
    .default("")
    .describe("The key to `/admin`, at least 16 characters. Empty: the admin API is off."),
  VEXEL_MAX_BODY_BYTES: bytes(32 * MiB).describe("Largest JSON body."),
  VEXEL_JSON_MEMORY_BYTES: bytes(256 * MiB).describe(
    "Memory for the JSON bodies of all requests in flight. API keys share it.",
  ),
  VEXEL_MAX_FILE_BYTES: bytes(50 * MiB).describe("Largest uploaded file."),
  VEXEL_MAX_UPLOAD_BYTES: bytes(512 * MiB).describe("Largest multipart form, all parts together."),
  VEXEL_SPOOL_MAX_BYTES: bytes(4096 * MiB).describe(
    "Room on disk for the temp files of all requests: uploads, and large responses of upstreams. API keys share it.",
  ),
  VEXEL_DISK_RESERVE_BYTES: z.coerce
    .number()
    .int()
    .min(0)
    .default(256 * MiB)
    .describe(
      "Free disk space that is kept for the ledger: uploads are refused below it, stored images and temp files of responses below half of it. At most a twentieth of the disk. 0: none.",
    ),
  VEXEL_MAX_RESPONSE_BYTES: bytes(256 * MiB).describe("Largest answer taken from an upstream."),
  VEXEL_MAX_INPUTS: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000)
    .default(2048)
    .describe("Most inputs in one embeddings call. OpenAI allows 2048."),
  VEXEL_MAX_CONCURRENT: z.coerce
    .number()
    .int()
    .min(1)
    .default(4096)
    .describe("Most calls in hand at once, those that wait among them."),
  VEXEL_MAX_CONNECTIONS: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(0)
    .describe(
      "Most client connections at once, idle ones among them. 0: as many as the limit of open files allows, up to 10000.",
    ),
  VEXEL_MAX_IMAGE_REQUESTS: z.coerce
    .number()
    .int()
    .min(1)
    .default(256)
    .describe("Most image calls at work at once, so that they leave room for embeddings."),
  VEXEL_MAX_QUEUE: z.coerce
    .number()
    .int()
    .min(0)
    .max(100_000)
    .default(1000)
    .describe("Most calls that wait for a place at once. 0: none waits, the next is answered 429."),
  VEXEL_QUEUE_TIMEOUT: seconds(5, 0).describe(
    "Seconds an embeddings call waits for a place, at most.",
  ),
  VEXEL_IMAGES_QUEUE_TIMEOUT: seconds(30, 0).describe(
    "Seconds an image call waits for a place, at most.",
  ),
  VEXEL_BODY_TIMEOUT: seconds(120).describe(
    "Seconds without a byte before a slow body is given up.",
  ),
  VEXEL_BODY_MIN_RATE: z.coerce
    .number()
    .int()
    .min(0)
    .default(16 * 1024)
    .describe(
      "Bytes per second that a request body must bring on average, once `VEXEL_BODY_TIMEOUT` seconds were spent waiting for it. 0: no minimum.",
    ),
  VEXEL_EMBEDDINGS_TIMEOUT: seconds(120).describe("Seconds an embeddings call may take in all."),
  VEXEL_IMAGES_TIMEOUT: seconds(600).describe("Seconds an image call may take in all."),
  VEXEL_ON_DISCONNECT: z
    .enum(["finish", "cancel"])
    .default("finish")
    .describe(
      "An image call whose caller leaves: `finish` it, as it is paid for, and keep the answer for whoever asks again; or `cancel` it. A model's `onDisconnect` wins.",
    ),
  VEXEL_RESPONSE_TTL: seconds(3600).describe(
    "Seconds an answer is kept for the same Idempotency-Key, or for a caller who left.",
  ),
  VEXEL_RESPONSES_MAX_BYTES: bytes(1024 * MiB).describe("Room for kept answers on disk."),
  VEXEL_KEEP_ALIVE: seconds(0, 0).describe(
    "Seconds of silence after which a whole image answer begins with spaces, for proxies that hang up on silence. The status is 200 from then on, whatever follows. 0: never.",
  ),
  VEXEL_DRAIN_TIMEOUT: seconds(30, 0).describe(
    "Seconds a stopping gateway waits for calls in hand.",
  ),
  VEXEL_ON_CRASH: z
    .enum(["restart", "exit"])
    .default("restart")
    .describe(
      "What a gateway does after an uncaught exception, once requests in flight are finished.",
    ),
  VEXEL_CACHE_BYTES: z.coerce
    .number()
    .int()
    .min(0)
    .default(8 * MiB)
    .describe("Memory for vectors that are known already. 0: none are remembered."),
  VEXEL_CACHE_PERSIST: z
    .enum(["memory", "disk"])
    .default("memory")
    .describe(
      "Where known vectors are kept: `memory` forgets them when the gateway stops, `disk` does not.",
    ),
  VEXEL_CACHE_TTL: z.coerce
    .number()
    .int()
    .min(0)
    .default(0)
    .describe("Seconds after which a known vector is asked for anew. 0: it is known for ever."),
  VEXEL_BATCH_WAIT_MS: z.coerce
    .number()
    .int()
    .min(0)
    .max(1000)
    .default(25)
    .describe(
      "Longest wait in milliseconds of a small embeddings request for a micro-batch, while its target is busy. 0: micro-batching is off.",
    ),
  VEXEL_CANARY_HOURS: z.coerce
    .number()
    .int()
    .min(0)
    .max(8760)
    .default(6)
    .describe(
      "Hours between two comparisons of the vectors of a model's targets, where it has several. 0: they are never compared.",
    ),
  VEXEL_ON_LEDGER_ERROR: z
    .enum(["refuse", "serve"])
    .default("refuse")
    .describe(
      "When the ledger cannot be written: `refuse` calls (503), or `serve` them and say so in the header `vexel-ledger` and the log.",
    ),
  VEXEL_LEDGER_DAYS: z.coerce
    .number()
    .int()
    .min(0)
    .default(365)
    .describe("Days a ledger row is kept. 0: for ever."),
  VEXEL_LEDGER_MAX_BYTES: z.coerce
    .number()
    .int()
    .min(0)
    .default(0)
    .describe("Largest ledger on disk; when reached it counts as a full disk. 0: no limit."),
  VEXEL_LEDGER_CHECK: seconds(3600, 0).describe(
    "Seconds between two checks of `ledger.db` and `vexel.db` for damage, in a process of their own. 0: never.",
  ),
  VEXEL_IMAGE_TTL: seconds(3600).describe("Seconds a stored picture's link works."),
  VEXEL_IMAGES_MAX_BYTES: bytes(1024 * MiB).describe("Room for stored pictures on disk."),
  VEXEL_DOWNLOAD_MAX_BYTES: bytes(64 * MiB).describe("Largest picture fetched from a link."),
  VEXEL_DOWNLOAD_TIMEOUT: seconds(60).describe(
    "Seconds that fetching a picture from a link may take.",
  ),
  VEXEL_DOWNLOAD_PRIVATE: z
    .string()
    .default("")
    .describe(
      "Hosts inside one's own network that links may lead to, as `host` or `host:port`, separated by commas. Empty: none but an upstream's own.",
    ),
  VEXEL_EMBEDDED_IDLE: seconds(600).describe(
    "Seconds without a call after which an embedded model leaves memory.",
  ),
} as const satisfies Record<string, z.ZodType>;

const schema = z.object(settingsTable);
export type Settings = Readonly<z.infer<typeof schema>>;

export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

/** What must not be seen on a screen or in a log. */
const hidden: ReadonlySet<string> = new Set(["VEXEL_ADMIN_KEY"] satisfies (keyof Settings)[]);

const shown = (name: string, given: Readonly<Record<string, string | undefined>>): string =>
  hidden.has(name) ? "(a hidden value)" : JSON.stringify(given[name]);

/** An empty variable counts as unset, as it does in most shells' idiom `PORT= npm start`. */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const given = Object.fromEntries(
    Object.keys(settingsTable).flatMap((name) => (env[name] ? [[name, env[name]]] : [])),
  );
  const parsed = schema.safeParse(given);
  if (parsed.success) return Object.freeze(parsed.data);
  const problems = parsed.error.issues.map(
    ({ path, message, code }) =>
      `${path.join(".")}=${shown(String(path[0]), given)}: ${code === "invalid_type" ? "it must be a number." : message}`,
  );
  throw new SettingsError(problems.join("\n"));
}
