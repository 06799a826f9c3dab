/**
 * Fake image vendors: a function that accepts the vendor's own requests, refuses what the vendor would refuse, and
 * responds in the vendor's own format. It is served over HTTP behind a real gateway.
 */
import type { ErrorKind } from "../../contract/errors.ts";

/** A request as it came over the wire. */
export interface VendorRequest {
  readonly method: string;
  /** With the query, below the origin. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
  /** Where the fake is reached, such as http://127.0.0.1:4711: for the links in its responses. */
  readonly origin: string;
}

export interface VendorResponse {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body: string | Uint8Array | object;
}

/** How the vendor understood a request. The laws compare it with the client's request. */
export interface ParsedRequest {
  readonly prompt: string;
  /** The number of images. 1 where the vendor has no parameter for it. */
  readonly n: number;
  /** As WIDTHxHEIGHT, where the vendor takes sizes. */
  readonly size?: string;
  /** As 16:9, where it takes aspect ratios. */
  readonly aspect?: string;
  /** The options of the vendor's request, translated back to OpenAI's names: quality, background, output_format … */
  readonly options?: Readonly<Record<string, unknown>>;
  /** The images of an edit, in order. */
  readonly images?: readonly Uint8Array[];
  readonly mask?: Uint8Array;
}

/** Generates the images that the vendor delivers, and records the requests. */
export interface ImageGenerator {
  /** Generates the requested number of images. Polling a job is not another request. */
  generate(parsed: ParsedRequest, kind?: "png" | "jpeg" | "webp"): Promise<Uint8Array[]>;
  /** A link to an image at the fake's own origin. The generator serves it. */
  link(image: Uint8Array, origin: string): string;
}

export interface FakeVendor {
  /** Unique: `bedrock-nova-canvas`. */
  readonly name: string;
  /** The adapter. */
  readonly kind: string;
  /** The target's model. */
  readonly model: string;
  /**
   * Settings of the upstream in the configuration, besides id, kind and baseUrl: apiKey and the kind's own settings.
   * `{origin}` in a string is replaced by the fake's own address.
   */
  readonly config: Readonly<Record<string, unknown>>;
  /** The path after the origin in the baseUrl, such as `/v1`. */
  readonly basePath?: string;
  /** The path of the list of models, which the gateway requests once. If absent, it requests none. */
  readonly modelList?: string;
  readonly operations: readonly ("generations" | "edits")[];
  /** The source of the formats: documentation, an SDK's source, a recorded response. Golden files repeat it. */
  readonly source: string;
  /** A new vendor without state of earlier ones. Throws a `VendorResponse` to refuse. */
  open(
    generator: ImageGenerator,
  ): (request: VendorRequest) => Promise<VendorResponse> | VendorResponse;
  /** Error responses to a generation, and the error kind that each must become. */
  readonly refusals: readonly VendorRefusal[];
}

export interface VendorRefusal extends VendorResponse {
  readonly kind: ErrorKind;
  /** The vendor documents that it charges only for delivered images, and this is its own error. */
  readonly uncharged?: true;
}

/** Reads a JSON body, or refuses it as most vendors do. `known`: the fields that the vendor documents. */
export function jsonOf(
  { body }: VendorRequest,
  known?: readonly string[],
): Record<string, unknown> {
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(new TextDecoder().decode(body)) as Record<string, unknown>;
  } catch {
    throw { status: 400, body: { error: "not JSON" } } satisfies VendorResponse;
  }
  if (known) rejectUnknownFields(fields, known);
  return fields;
}

export type Form = FormData & Iterable<[string, string | File]>;

export const formOf = ({ body, headers }: VendorRequest): Promise<Form> =>
  new Response(body as Uint8Array<ArrayBuffer>, {
    headers: { "content-type": headers.get("content-type") ?? "" },
    // Bun's FormData and that of its bundled types are the same class under two names.
  }).formData() as unknown as Promise<Form>;

/** Fields that the vendor does not document are a defect of the gateway, even if the vendor would ignore them. */
export function rejectUnknownFields(
  fields: Readonly<Record<string, unknown>>,
  known: readonly string[],
): void {
  const unknown = Object.keys(fields).filter((name) => !known.includes(name));
  if (unknown.length > 0) throw { status: 400, body: { error: `unknown: ${unknown.join(", ")}` } };
}
