/**
 * Content that does not change while the gateway runs, such as the OpenAPI document: it is compressed once and served
 * from memory, with an ETag. A client that has it already gets 304.
 */
import { commaList } from "../lib/comma-list.ts";
import type { OutgoingResponse, RequestHeaders } from "../request/http-types.ts";
import { acceptsGzip } from "./accepts-gzip.ts";

export class StaticContent {
  readonly #gzipped: Uint8Array<ArrayBuffer>;
  #plain: Uint8Array<ArrayBuffer> | undefined;
  readonly #etag: string;

  private constructor(gzipped: Uint8Array<ArrayBuffer>, plain?: Uint8Array<ArrayBuffer>) {
    this.#gzipped = gzipped;
    this.#plain = plain;
    // Weak: the same for the plain and the compressed bytes.
    this.#etag = `W/"${Bun.hash(gzipped).toString(36)}"`;
  }

  static fromText(text: string): StaticContent {
    const plain = new TextEncoder().encode(text);
    return new StaticContent(Bun.gzipSync(plain, { level: 9 }), plain);
  }

  static fromGzip(gzipped: Uint8Array): StaticContent {
    return new StaticContent(new Uint8Array(gzipped));
  }

  /** The bytes without compression. They are kept. */
  get plain(): Uint8Array<ArrayBuffer> {
    this.#plain ??= Bun.gunzipSync(this.#gzipped);
    return this.#plain;
  }

  /** `headers`: of the response, such as its content type. */
  respond(request: RequestHeaders, headers: Readonly<Record<string, string>>): OutgoingResponse {
    const shared = { ...headers, etag: this.#etag, vary: "accept-encoding" };
    if (hasEtag(request.get("if-none-match"), this.#etag)) {
      return { status: 304, headers: shared, body: "" };
    }
    return acceptsGzip(request.get("accept-encoding"))
      ? { status: 200, headers: { ...shared, "content-encoding": "gzip" }, body: this.#gzipped }
      : { status: 200, headers: shared, body: this.plain };
  }
}

const hasEtag = (header: string | null, etag: string): boolean =>
  commaList(header ?? "").some((each) => each === "*" || each === etag);
