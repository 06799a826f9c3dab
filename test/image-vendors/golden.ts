/**
 * Golden files of the exchanges between the gateway and a vendor: without secrets, times and random values, and with a
 * placeholder for each image.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sniffImage } from "../../server/lib/sniff-image.ts";
import { root } from "../harness.ts";
import {
  type FakeVendor,
  formOf,
  type VendorRequest,
  type VendorResponse,
} from "./image-vendor.ts";
import type { Exchange } from "./serve-vendor.ts";

export const goldens = join(root, "test", "wire", "images");

export interface Golden {
  /** The source of the vendor's formats. */
  readonly source: string;
  /** The parameters of the client's request. */
  readonly parameters: object;
  readonly exchanges: readonly {
    readonly request: {
      readonly method: string;
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: unknown;
    };
    readonly response: {
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: unknown;
    };
  }[];
}

export async function goldenOf(
  { source, config }: FakeVendor,
  parameters: object,
  exchanges: readonly Exchange[],
): Promise<Golden> {
  const secrets = textsIn(config).filter((text) => text.length >= 6);
  const settled = await Promise.all(
    exchanges.map(async ({ request, response }) => {
      const hosts = [request.origin, new URL(request.origin).host];
      const safe = <T>(value: T): T => settle(value, secrets, hosts) as T;
      const { status = 200, headers = {} } = response;
      return {
        request: {
          method: request.method,
          path: safe(request.path),
          headers: safe(headersOf(request)),
          body: safe(await bodyOf(request)),
        },
        response: { status, headers: safe({ ...headers }), body: safe(responseBody(response)) },
      };
    }),
  );
  return { source, parameters, exchanges: settled };
}

const textsIn = (value: unknown): string[] => {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsIn);
};

/** Headers of the connection, which are not part of the vendor's API. */
const ofConnection = /^(?:host|connection|content-length|user-agent|accept-encoding)$/;
/** Credentials and signatures, which depend on secrets or on the time. */
const proofs = /^(?:authorization|api-key|x-api-key|x-.*-(?:signature|key)|x-amz-content-sha256)$/;

function headersOf({ headers }: VendorRequest): Record<string, string> {
  // `fetch` adds `accept: */*` by itself.
  const kept = [...headers].filter(
    ([name, value]) => !ofConnection.test(name) && !(name === "accept" && value === "*/*"),
  );
  const shown = kept.map(([name, value]): [string, string] => {
    if (!proofs.test(name)) return [name, value.replace(/boundary=.*$/, "boundary={boundary}")];
    // `Bearer`, `Key`, `Basic`: the scheme is part of the vendor's API.
    const [word = "", ...others] = value.split(" ");
    return [name, others.length > 0 ? `${word} ***` : "***"];
  });
  return Object.fromEntries(shown.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

async function bodyOf(request: VendorRequest): Promise<unknown> {
  const type = request.headers.get("content-type") ?? "";
  if (request.body.length === 0) return null;
  if (!/^multipart\/form-data\b/.test(type)) return readable(request.body);
  const parts: [string, string | File][] = [...(await formOf(request)).entries()];
  return Promise.all(
    parts.map(async ([name, value]) =>
      typeof value === "string"
        ? { name, value }
        : {
            name,
            filename: value.name,
            type: value.type,
            content: readable(new Uint8Array(await value.arrayBuffer())),
          },
    ),
  );
}

const responseBody = ({ body }: VendorResponse): unknown =>
  body instanceof Uint8Array || typeof body === "string" ? readable(body) : body;

/** An image as its media type, JSON parsed, anything else as text. */
function readable(body: Uint8Array | string): unknown {
  const type = typeof body === "string" ? undefined : sniffImage(body);
  if (type) return `{${type}}`;
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Replaces everything that differs between runs. */
function settle(value: unknown, secrets: readonly string[], hosts: readonly string[]): unknown {
  if (typeof value === "number") return isNow(value) ? "{now}" : value;
  if (typeof value === "string") return settleText(value, secrets, hosts);
  if (Array.isArray(value)) return value.map((entry) => settle(entry, secrets, hosts));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [name, settle(entry, secrets, hosts)]),
  );
}

/** Unix seconds or milliseconds, within an hour. */
const isNow = (value: number): boolean =>
  [1, 1000].some((unit) => Math.abs(value - (Date.now() / 1000) * unit) < 3600 * unit);

const chance: readonly (readonly [RegExp, string])[] = [
  [/\/studio\/[\w.-]+/g, "/studio/{image}"],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "{uuid}"],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?/g, "{time}"],
  [/\b\d{8}T\d{6}Z\b/g, "{time}"],
  [/\b[0-9a-f]{24,}\b/g, "{hex}"],
];

function settleText(text: string, secrets: readonly string[], hosts: readonly string[]): string {
  const [origin = "", host = ""] = hosts;
  let settled = text.replace(/[A-Za-z0-9+/]{65,}={0,2}/g, imagePlaceholder);
  settled = settled.replaceAll(origin, "{origin}").replaceAll(host, "{host}");
  for (const secret of secrets) settled = settled.replaceAll(secret, "***");
  for (const [pattern, word] of chance) settled = settled.replace(pattern, word);
  return settled;
}

const imagePlaceholder = (base64: string): string => {
  const type = sniffImage(Buffer.from(base64.slice(0, 64), "base64"));
  return type ? `{base64 of ${type}}` : "{base64}";
};

/** The names of all members of a value, without their values. Lists have the shape of their first entry. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.entries(value).map(([name, member]) => [name, shapeOf(member)]);
}

/** Every law compares the golden files of all vendors. */
const read = new Map<string, Golden>();

function readGolden({ name }: FakeVendor, operation: string): Golden {
  const path = join(goldens, `${name}.${operation}.golden.json`);
  const golden = read.get(path) ?? (JSON.parse(readFileSync(path, "utf8")) as Golden);
  read.set(path, golden);
  return golden;
}

/** Equal for models of one adapter whose exchanges have the same steps, with responses of the same shape. */
export function responseShape(vendor: FakeVendor, operation: string): string {
  const { exchanges } = readGolden(vendor, operation);
  const steps = exchanges.map(({ request, response }) => [request.method, shapeOf(response.body)]);
  return JSON.stringify([vendor.kind, steps]);
}

/** Whether an image is made by one request, or by a job that is polled. */
export const stepCount = (vendor: FakeVendor, operation: string): number =>
  readGolden(vendor, operation).exchanges.length;

/**
 * Equal for the models of one adapter whose images are made by a request, and for those whose images are made by a job:
 * the code that reads the response is the same, whatever the model.
 */
export const stepsOf = (vendor: FakeVendor, operation: string): string =>
  `${vendor.kind} ${stepCount(vendor, operation)}`;

/** Equal for models of one adapter that get requests of the same shape. Their golden files hold the values. */
export function requestShape(vendor: FakeVendor, operation: string): string {
  const { exchanges } = readGolden(vendor, operation);
  const steps = exchanges.map(({ request }) => [request.method, shapeOf(request.body)]);
  return JSON.stringify([vendor.kind, operation, steps]);
}

/** Equal for models of one adapter that get the prompt in the same member, whatever other members their requests have. */
export function promptMember(vendor: FakeVendor, operation: string): string {
  const { exchanges } = readGolden(vendor, operation);
  const members = exchanges.map(({ request }) => pathTo(goldenPrompt, request.body));
  return JSON.stringify([vendor.kind, operation, members]);
}

/** The prompt of every golden file. */
export const goldenPrompt = "A cute baby sea otter";

/** The names of the members that lead to a text. The parts of a form have names, too. */
function pathTo(text: string, value: unknown): readonly unknown[] | undefined {
  if (typeof value === "string") return value.includes(text) ? [] : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [member, inner] of Object.entries(value)) {
    const path = pathTo(text, inner);
    if (path) return [Array.isArray(value) ? (inner as { name?: string }).name : member, ...path];
  }
  return undefined;
}
