/** A request as the pipeline sees it: its request ID, its head, and its body within the bounds of the settings. */

import type { KeyShares } from "../lib/key-shares.ts";
import type { Serialize } from "../lib/tasks.ts";
import type { DisconnectListener } from "../request/deadline.ts";
import type { Form, FormPart, RequestHeaders } from "../request/http-types.ts";
import type { BodyTimeout } from "./body-timeout.ts";
import type { createClientAddress, createForwardedScheme } from "./client-address.ts";
import type { BridgedRequest } from "./fetch-bridge.ts";
import { type FormLimits, readForm, readFormParts } from "./form.ts";
import { takeJsonMemory } from "./json-memory.ts";
import { type JsonBodyContext, readBodyChunks, readJson } from "./read-body.ts";
import type { RequestBody, ServerRequest } from "./server/http-server.ts";

export interface BodyLimits {
  readonly maxBodyBytes: number;
  readonly form: FormLimits;
  /** Memory for the JSON bodies of all requests. */
  readonly jsonMemory: KeyShares;
}

export interface ReceivedRequestOptions extends BodyLimits {
  /** The public base URL. Empty: taken from the request's `host` header. */
  readonly publicUrl: string;
  /** The scheme on which the gateway listens. A proxy in front may serve another one. */
  readonly scheme: "http" | "https";
  readonly clientAddress: ReturnType<typeof createClientAddress>;
  readonly forwardedScheme: ReturnType<typeof createForwardedScheme>;
  readonly bodyTimeout: BodyTimeout;
  /** Large JSON bodies are parsed one after the other. */
  readonly parseInTurn: Serialize;
}

/** The setting of `maxBodyBytes`. */
const bodySetting = "VEXEL_MAX_BODY_BYTES";

export class ReceivedRequest implements BridgedRequest, JsonBodyContext {
  readonly requestId = newRequestId();
  readonly method: string;
  readonly path: string;
  readonly headers: RequestHeaders;
  /** Set when the path has been matched. */
  route: string | undefined;
  bytesReceived = 0;
  readonly #request: ServerRequest;
  readonly #options: ReceivedRequestOptions;
  #keyId = "";
  /** Memory that is reserved for the body. */
  #reservedBytes = 0;

  constructor(request: ServerRequest, options: ReceivedRequestOptions) {
    this.#request = request;
    this.#options = options;
    const { head } = request;
    this.method = head.method;
    this.path = head.path;
    this.headers = head;
  }

  get timeout(): BodyTimeout {
    return this.#options.bodyTimeout;
  }

  get parseInTurn(): Serialize {
    return this.#options.parseInTurn;
  }

  get search(): string {
    return this.#request.head.search;
  }

  get body(): RequestBody {
    return this.#request.body;
  }

  get clientAddress(): string {
    const { remoteAddress } = this.#request;
    return this.#options.clientAddress({ remoteAddress, headers: this.headers });
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  setDisconnectListener(listener: DisconnectListener | undefined): void {
    this.#request.setDisconnectListener(listener);
  }

  get publicUrl(): string {
    if (this.#options.publicUrl) return this.#options.publicUrl.replace(/\/+$/, "");
    const { remoteAddress } = this.#request;
    const forwarded = this.#options.forwardedScheme({ remoteAddress, headers: this.headers });
    const scheme = forwarded ?? this.#options.scheme;
    const host = this.headers.get("host") ?? "";
    return /^[\w.:[\]-]{1,255}$/.test(host) ? `${scheme}://${host}` : "";
  }

  json(keyId: string, maxBytes = this.#options.maxBodyBytes): Promise<unknown> {
    this.#keyId = keyId;
    const { maxBodyBytes } = this.#options;
    const maxTextBytes = Math.min(maxBytes, maxBodyBytes);
    const textSetting = maxTextBytes === maxBodyBytes ? bodySetting : undefined;
    return readJson(this, { maxTextBytes, maxDataUrlBytes: 0, textSetting }, this);
  }

  jsonWithImages(keyId: string, images?: "several"): Promise<unknown> {
    this.#keyId = keyId;
    const { maxBodyBytes, form } = this.#options;
    const maxDataUrlBytes = images ? form.maxFormBytes : form.maxFileBytes;
    const dataUrlSetting = images ? "VEXEL_MAX_UPLOAD_BYTES" : "VEXEL_MAX_FILE_BYTES";
    const limits = { maxTextBytes: maxBodyBytes, maxDataUrlBytes };
    return readJson(this, { ...limits, textSetting: bodySetting, dataUrlSetting }, this);
  }

  reserveMemory(bytes: number): void {
    takeJsonMemory(this.#options.jsonMemory, this.#keyId, bytes, this.#reservedBytes);
    this.#reservedBytes += bytes;
  }

  releaseBody(): void {
    if (this.#reservedBytes > 0) this.#options.jsonMemory.release(this.#keyId, this.#reservedBytes);
    this.#reservedBytes = 0;
  }

  headerEntries(): Iterable<readonly [string, string]> {
    return this.#request.head.entries();
  }

  chunks(): AsyncIterable<Uint8Array> {
    return readBodyChunks(this, this.#options.maxBodyBytes, this, bodySetting);
  }

  form(keyId: string): Promise<Form> {
    return readForm(this, this.#options.form, this, keyId);
  }

  parts(maxBytes: number): AsyncIterable<FormPart> {
    return readFormParts(this, maxBytes, this);
  }

  countReceived(bytes: number): void {
    this.bytesReceived += bytes;
  }
}

/** Request ids: sortable by time, unguessable, in the shape of OpenAI's. */
export function newRequestId(): string {
  const id = Bun.randomUUIDv7();
  // Sliced at the hyphens, which have fixed positions: half the cost of `replaceAll`.
  return `req_${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(14, 18)}${id.slice(19, 23)}${id.slice(24)}`;
}
