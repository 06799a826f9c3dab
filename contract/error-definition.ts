/** What a row of the table of faults says, and how the usual ones are written. */

export interface ErrorDefinition {
  readonly status: number;
  /** OpenAI's `error.type`. */
  readonly type: string;
  /** OpenAI's `error.code`; several of OpenAI's own answers have none. */
  readonly code: string | null;
  readonly blame: "client" | "upstream" | "gateway";
  /** May the same call succeed: never, on another target, or on the same one a little later? */
  readonly retry: "never" | "elsewhere" | "later";
  /** The caller's own retry cannot help, although another target might. */
  readonly final?: true;
  /** It may be over in a moment: where no other target is left, the same one is asked again. */
  readonly passing?: true;
  /** The upstream may have done the work, and charge for it, all the same. */
  readonly maybePaid?: true;
  /** When it happens, for people. Shown in docs/errors.md. */
  readonly when: string;
}

export const client = (
  status: number,
  type: string,
  code: string | null,
  when: string,
): ErrorDefinition => ({
  status,
  type,
  code,
  blame: "client",
  retry: "never",
  when,
});
/** OpenAI's own rate limits look like this. */
export const limited = (when: string): ErrorDefinition => ({
  ...client(429, "requests", "rate_limit_exceeded", when),
  retry: "later",
});
export const invalid = (code: string | null, when: string, status = 400): ErrorDefinition =>
  client(status, "invalid_request_error", code, when);
export const drawing = (code: string, when: string): ErrorDefinition =>
  client(400, "image_generation_user_error", code, when);
export const upstream = (
  status: number,
  type: string,
  code: string | null,
  retry: ErrorDefinition["retry"],
  when: string,
): ErrorDefinition => ({ status, type, code, blame: "upstream", retry, when });
export const gateway = (
  status: number,
  type: string,
  code: string,
  when: string,
): ErrorDefinition => ({
  status,
  type,
  code,
  blame: "gateway",
  retry: "later",
  when,
});
