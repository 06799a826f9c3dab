/** The one error type that crosses folders; everything else that is thrown is a defect. */
import {
  type ErrorBody,
  type ErrorDefinition,
  type ErrorKind,
  errorTable,
} from "../../contract/errors.ts";

export interface ErrorDetails {
  /** The request field at fault, as the caller spelled it. */
  readonly param?: string;
  /** Milliseconds after which a retry makes sense. */
  readonly retryAfterMs?: number;
  /** What an upstream said itself, where its words are kept, or what is otherwise this time: wins over the table. */
  readonly overrides?: Partial<
    Pick<ErrorDefinition, "status" | "type" | "code" | "retry" | "clientShouldNotRetry">
  >;
  /** Extra members of the error body, such as `moderation_details`. */
  readonly extra?: Readonly<Record<string, unknown>>;
  /** For the operator's log alone: names of hosts, paths and the like. Never a key, prompt, vector or picture. */
  readonly logDetail?: string;
  /** The request never reached the upstream, so nothing can have been charged. */
  readonly notSent?: true;
  /** It reached the upstream, which has no such place: nothing was made, whatever the table says. */
  readonly notExecuted?: true;
  /** The upstream failed, said so itself, and charges for nothing but what it delivers. */
  readonly notBilled?: true;
  /** The upstream had taken the job by then, so it may charge for it, whatever the table says. */
  readonly mayBeBilled?: true;
  readonly cause?: unknown;
}

export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly kind: ErrorKind;
  readonly details: ErrorDetails;

  constructor(fault: ErrorKind, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = fault;
    this.details = details;
  }

  get definition(): ErrorDefinition {
    return { ...errorTable[this.kind], ...this.details.overrides };
  }

  get body(): ErrorBody {
    const { type, code } = this.definition;
    const { param, extra } = this.details;
    return { error: { ...extra, message: this.message, type, param: param ?? null, code } };
  }
}
