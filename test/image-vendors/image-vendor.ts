/**
 * A vendor that draws, as a test stands in for it: a function that takes the vendor's own requests, refuses what the
 * vendor would refuse, and answers in the vendor's own shapes. It is served over HTTP, and a real gateway is put before it.
 */
import type { ErrorKind } from "../../contract/errors.ts";

/** A request as it came over the wire. */
export interface VendorRequest {
  readonly method: string;
  /** With the query, below the origin. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
  /** Where the fake is reached, such as http://127.0.0.1:4711: for the links in its answers. */
  readonly origin: string;
}

export interface VendorResponse {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body: string | Uint8Array | object;
}

/** How the vendor understood a request. The laws compare it with the client's request. */
export interface Order {
  readonly prompt: string;
  /** How many pictures. 1 where the vendor has no word for it. */
  readonly n: number;
  /** As WIDTHxHEIGHT, where the vendor knows sizes. */
  readonly size?: string;
  /** As 16:9, where it knows shapes. */
  readonly aspect?: string;
  /** OpenAI's options that the vendor was told of in its own words, back in OpenAI's: quality, background, output_format … */
  readonly options?: Readonly<Record<string, unknown>>;
  /** The pictures of an edit, in order. */
  readonly images?: readonly Uint8Array[];
  readonly mask?: Uint8Array;
}

/** Makes what the vendor delivers, and keeps account of what was ordered. */
export interface Studio {
  /** One call to the vendor is one order, however often it is asked whether it is done. Gives as many pictures as were ordered. */
  take(order: Order, kind?: "png" | "jpeg" | "webp"): Promise<Uint8Array[]>;
  /** A link to a picture at the fake's own origin. GET of it is answered by the studio. */
  link(picture: Uint8Array, origin: string): string;
}

export interface PictureVendor {
  /** Of this case, and of nothing else: `bedrock-nova-canvas`. */
  readonly name: string;
  /** The adapter. */
  readonly kind: string;
  /** The target's model. */
  readonly model: string;
  /**
   * Of the upstream in the configuration, besides id, kind and baseUrl: apiKey and the kind's own settings. Where a text
   * in it holds `{origin}`, the fake's own address is put there.
   */
  readonly config: Readonly<Record<string, unknown>>;
  /** What stands behind the origin in the baseUrl, such as `/v1`. */
  readonly basePath?: string;
  readonly operations: readonly ("generations" | "edits")[];
  /** Where the shapes come from: documentation, an SDK's source, a recorded answer. Golden files repeat it. */
  readonly source: string;
  /** A new vendor, without memory of earlier ones. Throws a `VendorResponse` to refuse. */
  open(studio: Studio): (request: VendorRequest) => Promise<VendorResponse> | VendorResponse;
  /** Answers to a generation that mean no, and the fault each must become. */
  readonly refusals: readonly VendorRefusal[];
}

export interface VendorRefusal extends VendorResponse {
  readonly fault: ErrorKind;
  /** The vendor says that it charges for nothing but what it delivers, and these are its own words. */
  readonly uncharged?: true;
}

/** Reads a JSON body, or refuses as most do. */
export function jsonOf({ body }: VendorRequest): Record<string, unknown> {
  try {
    return JSON.parse(new TextDecoder().decode(body)) as Record<string, unknown>;
  } catch {
    throw { status: 400, body: { error: "not JSON" } } satisfies VendorResponse;
  }
}

export type Form = FormData & Iterable<[string, string | File]>;

export const formOf = ({ body, headers }: VendorRequest): Promise<Form> =>
  new Response(body as Uint8Array<ArrayBuffer>, {
    headers: { "content-type": headers.get("content-type") ?? "" },
    // Bun's FormData and that of the types it brings along are the same thing under two names.
  }).formData() as unknown as Promise<Form>;

/** Fields that the vendor does not know are a mistake of ours, even where the vendor would not mind. */
export function onlyKnown(
  fields: Readonly<Record<string, unknown>>,
  known: readonly string[],
): void {
  const strange = Object.keys(fields).filter((name) => !known.includes(name));
  if (strange.length > 0) throw { status: 400, body: { error: `unknown: ${strange.join(", ")}` } };
}
