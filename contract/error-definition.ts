/** One row of the error table, and the constructors for the usual rows. */

export interface ErrorDefinition {
  readonly status: number;
  /** OpenAI's `error.type`. */
  readonly type: string;
  /** OpenAI's `error.code`. It is null where OpenAI's own error has no code. */
  readonly code: string | null;
  readonly causedBy: "client" | "upstream" | "gateway";
  /** Whether a retry of the same request can succeed: never, at another target, or at the same target later. */
  readonly retry: "never" | "elsewhere" | "later";
  /** A retry by the client cannot succeed, although the gateway may fail over to another target. */
  readonly clientShouldNotRetry?: true;
  /** A transient error: if no other target is left, the gateway retries the same target. */
  readonly transient?: true;
  /** The upstream may have processed the request, and may bill it, despite the error. */
  readonly mayBeBilled?: true;
  /** When the error occurs, for people. docs/errors.md has the same sentence. */
  readonly description: string;
}

export const clientError = (
  status: number,
  type: string,
  code: string | null,
  description: string,
): ErrorDefinition => ({
  status,
  type,
  code,
  causedBy: "client",
  retry: "never",
  description,
});

/** The same type and code as OpenAI's own rate limits. */
export const rateLimitError = (description: string): ErrorDefinition => ({
  ...clientError(429, "requests", "rate_limit_exceeded", description),
  retry: "later",
});

export const invalidRequest = (
  code: string | null,
  description: string,
  status = 400,
): ErrorDefinition => clientError(status, "invalid_request_error", code, description);

/** OpenAI's type for an image request that the model cannot or may not serve. */
export const imageUserError = (code: string, description: string): ErrorDefinition =>
  clientError(400, "image_generation_user_error", code, description);

export const upstreamError = (
  status: number,
  type: string,
  code: string | null,
  retry: ErrorDefinition["retry"],
  description: string,
): ErrorDefinition => ({ status, type, code, causedBy: "upstream", retry, description });

/** The gateway fails over to another target. */
export const failoverError = (
  status: number,
  type: string,
  code: string,
  description: string,
  flags: Pick<ErrorDefinition, "clientShouldNotRetry" | "transient" | "mayBeBilled">,
): ErrorDefinition => ({
  ...upstreamError(status, type, code, "elsewhere", description),
  ...flags,
});

export const temporaryGatewayError = (
  status: number,
  type: string,
  code: string,
  description: string,
): ErrorDefinition => ({
  status,
  type,
  code,
  causedBy: "gateway",
  retry: "later",
  description,
});
