/**
 * The error of a request, with its status and its body in OpenAI's shape (`invalid_request_error` and other types). It
 * is the only error type that crosses folders: any other error that is thrown is a bug.
 */
import {
  type ErrorBody,
  type ErrorDefinition,
  type ErrorKind,
  errorTable,
} from "../../contract/errors.ts";
import type { Message, Translatable } from "../../contract/messages/message-format.ts";
import { errorMessage } from "./error-code.ts";

/** The error response of an upstream, for operators. */
export interface UpstreamErrorResponse {
  readonly status: number;
  /** The vendor's code. If absent, it reported none. */
  readonly code?: string;
  /** The vendor's id of the request. If absent, it sent none. */
  readonly requestId?: string;
  /** The vendor's message, without secrets. If absent, it sent none. */
  readonly message?: string;
}

export interface ErrorDetails {
  /** The request field that caused the error, as the client spelled it. */
  readonly param?: string;
  /** Milliseconds after which a retry makes sense. */
  readonly retryAfterMs?: number;
  /** The header `allow`: the methods that the path has. If absent, the error is not about the method. */
  readonly allow?: string;
  /** Values that replace the values of the error table, such as the upstream's own when its error is passed on. */
  readonly overrides?: Partial<
    Pick<ErrorDefinition, "status" | "type" | "code" | "retry" | "clientShouldNotRetry">
  >;
  /** Extra members of the error body, such as `moderation_details`. */
  readonly extra?: Readonly<Record<string, unknown>>;
  /** For the log only: host names, paths and the like. Never a key, prompt, vector or image. */
  readonly logDetail?: string;
  /** The request never reached the upstream, so nothing can have been charged. */
  readonly notSent?: true;
  /** The request for a token or key failed, so `logDetail` is the message of the token service. */
  readonly isAboutCredential?: true;
  /** The upstream has no such endpoint: it did no work, whatever the error table says. */
  readonly notExecuted?: true;
  /** The upstream reported its own failure, and bills only for responses that it delivers. */
  readonly notBilled?: true;
  /** The upstream had accepted the job, so it may bill for it, whatever the error table says. */
  readonly mayBeBilled?: true;
  /** A request that preceded the actual one failed, such as that for a list of models. */
  readonly saysNothingAboutTarget?: true;
  /** If absent, the error is not an error response of an upstream. */
  readonly upstream?: UpstreamErrorResponse;
  /** The code and the message, without secrets, in the upstream's error body. */
  readonly vendorCode?: string;
  readonly vendorMessage?: string;
  readonly cause?: unknown;
}

export class GatewayError extends Error {
  override readonly name = "GatewayError";
  /** The error kind: the name of its row in the error table. The field `code` of the body can differ. */
  readonly kind: ErrorKind;
  readonly details: ErrorDetails;
  /** Of errors of the admin API, which the console translates. */
  readonly i18n?: Translatable;

  constructor(kind: ErrorKind, message: string | Message, details: ErrorDetails = {}) {
    super(
      typeof message === "string" ? message : message.text,
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    this.kind = kind;
    this.details = details;
    if (typeof message !== "string") this.i18n = message.i18n;
  }

  get definition(): ErrorDefinition {
    return { ...errorTable[this.kind], ...this.details.overrides };
  }

  get body(): ErrorBody {
    const { type, code } = this.definition;
    const { param, extra } = this.details;
    const i18n = this.i18n && { i18n: this.i18n };
    return {
      error: { ...extra, message: this.message, type, param: param ?? null, code, ...i18n },
    };
  }
}

/** The reason of an error for the log: the detail that clients do not get, or its message. */
export const logReason = (error: unknown): string =>
  (error instanceof GatewayError ? error.details.logDetail : undefined) ?? errorMessage(error);
