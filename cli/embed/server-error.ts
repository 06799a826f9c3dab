/** An error of the embedding server, and what follows from it: a retry, a failed text, or the end of the run. */
import { errorCode, errorMessage } from "../../server/lib/error-code.ts";
import { excerpt } from "./excerpt.ts";

interface Details {
  readonly status?: number;
  readonly code?: string | undefined;
  readonly param?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly isTemporary: boolean;
  readonly isUnreachable?: boolean;
}

/** No server at the address, or one that does not speak HTTP there. */
const unreachable =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EPROTO|EHOSTUNREACH|ENETUNREACH|ConnectionRefused|FailedToOpenSocket)$|CERT|TLS|SSL|SIGNATURE/;

/** Bun's own messages of these codes are a question, and name a function. */
const reasons: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "The connection was refused (ECONNREFUSED)."],
  ["ConnectionRefused", "The connection was refused (ECONNREFUSED)."],
  ["ENOTFOUND", "There is no host of this name (ENOTFOUND)."],
]);

const maxMessageLength = 300;

/** A longer wait ends the run, which can be continued later. */
const maxRetryAfterMs = 600_000;

export class ServerError extends Error {
  override readonly name = "ServerError";
  readonly status: number | undefined;
  readonly param: string | undefined;
  readonly code: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** A later request may succeed. */
  readonly isTemporary: boolean;
  /** No connection could be made. */
  readonly isUnreachable: boolean;

  constructor(message: string, details: Details) {
    super(message);
    const { status, code, param, retryAfterMs, isTemporary, isUnreachable = false } = details;
    this.status = status;
    this.code = code;
    this.param = param;
    this.retryAfterMs = retryAfterMs;
    this.isTemporary = isTemporary;
    this.isUnreachable = isUnreachable;
  }

  static ofConnection(url: string, cause: unknown): ServerError {
    const code = errorCode(cause);
    const isUnreachable = unreachable.test(code);
    const reason = reasons.get(code) ?? `${errorMessage(cause).replace(/\.$/, "")}.`;
    return new ServerError(`${url}: ${reason}`, { isTemporary: true, isUnreachable });
  }

  /** The response is a 200, but not the vectors of the texts. */
  static ofInvalidResponse(problem: string): ServerError {
    return new ServerError(`The server's response is invalid: ${problem}`, { isTemporary: true });
  }

  static ofResponse({ status, headers }: Response, body: string): ServerError {
    const { message, code, param } = readError(body);
    const retryAfterMs = readRetryAfter(headers);
    const isTemporary =
      (status === 408 || status === 409 || status === 429 || status >= 500) &&
      headers.get("x-should-retry") !== "false" &&
      code !== "insufficient_quota" &&
      (retryAfterMs ?? 0) <= maxRetryAfterMs;
    const text = excerpt(message ?? body, maxMessageLength) || "an empty response";
    return new ServerError(`${status}: ${text}`, {
      status,
      code,
      param,
      retryAfterMs,
      isTemporary,
    });
  }

  isAbout(parameter: string): boolean {
    return (
      this.#refusesRequest() &&
      (this.param === parameter || (this.param === undefined && this.message.includes(parameter)))
    );
  }

  /** The server refuses at least one of the texts. Other parameters are the same for every text. */
  get refusesTexts(): boolean {
    const isAboutAll =
      ["model", "dimensions", "encoding_format", "output_dtype"].includes(this.param ?? "") ||
      ["model_not_found", "billing_hard_limit_reached"].includes(this.code ?? "");
    return this.#refusesRequest() && !isAboutAll;
  }

  #refusesRequest(): boolean {
    return this.status === 400 || this.status === 413 || this.status === 422;
  }
}

interface WireError {
  readonly message?: string | undefined;
  readonly code?: string | undefined;
  readonly param?: string | undefined;
}

/** OpenAI's `{error: {message, code, param}}`. Other bodies are shown as they are. */
function readError(body: string): WireError {
  try {
    const { error }: { error?: Record<string, unknown> } = JSON.parse(body);
    const text = (value: unknown) => (typeof value === "string" ? value : undefined);
    return { message: text(error?.message), code: text(error?.code), param: text(error?.param) };
  } catch {
    return {};
  }
}

function readRetryAfter(headers: Headers): number | undefined {
  const ms = Number(headers.get("retry-after-ms") || Number.NaN);
  if (ms >= 0) return ms;
  const text = headers.get("retry-after");
  if (!text) return undefined;
  const seconds = Number(text);
  const wait = Number.isNaN(seconds) ? Date.parse(text) - Date.now() : seconds * 1000;
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}
