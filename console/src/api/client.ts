/** Requests to the admin API. The session is a cookie; changes also send the CSRF token of the session. */
import type { AdminError } from "../../../contract/admin.ts";
import type { Translatable } from "../../../contract/messages/message-format.ts";
import { serverText } from "../i18n/server-text.ts";
import { setConnected } from "./connection.ts";

/** An error response of the admin API. */
export class ApiError extends Error {
  readonly status: number;
  readonly param: string | null;
  readonly code: string | null;
  readonly i18n: Translatable | undefined;
  /** What refers to an entity that cannot be deleted. */
  readonly usedBy: NonNullable<AdminError["error"]["used_by"]>;
  /** Of the request that failed, so that the page can link to it. */
  readonly requestId: string | null;

  constructor(
    status: number,
    { message, param, code, i18n, used_by: usedBy = [] }: AdminError["error"],
    requestId: string | null = null,
  ) {
    super(message);
    this.status = status;
    this.param = param;
    this.code = code;
    this.i18n = i18n;
    this.usedBy = usedBy;
    this.requestId = requestId;
  }
}

/** No response, or an error of the server: the same request may succeed later. */
export const isConnectionProblem = (error: unknown): boolean =>
  error !== null && error !== undefined && !(error instanceof ApiError && error.status < 500);

/** Nothing has the id of the request: it would not be found again either. */
export const isNotFound = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 404;

export const errorText = (error: unknown): string =>
  error instanceof ApiError ? serverText(error.message, error.i18n) : messageOf(error);

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** A request that failed, as a page shows it. */
export interface RequestFailure {
  readonly reason: string;
  /** `null`: the gateway sent no response. */
  readonly requestId: string | null;
}

export const failureOf = (error: unknown): RequestFailure => ({
  reason: errorText(error),
  requestId: error instanceof ApiError ? error.requestId : null,
});

let csrfToken = "";
export const setCsrfToken = (token: string): void => {
  csrfToken = token;
};

let onUnauthorized = (): void => {};
/** `handler` is called when the admin API refuses a request because no user is signed in. */
export const setUnauthorizedHandler = (handler: () => void): void => {
  onUnauthorized = handler;
};

/** For requests that other files send. A status of 401 may also come from a vendor, so the session is checked. */
export const checkSession = (): void => onUnauthorized();

/** For requests of the API reference, which are sent as the user typed them. */
export const csrfHeader = (): Readonly<Record<string, string>> => ({ "x-csrf-token": csrfToken });

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Leaves out the parameters that are not set. */
export function pathWithQuery(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") parameters.set(name, String(value));
  }
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}

interface CallOptions {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly form?: FormData;
  /** For `if-match`: the version that a change is based on. */
  readonly version?: number;
  readonly signal?: AbortSignal;
}

/** Reports at once whether the gateway responds: the queries of a page try again before they fail. */
async function watched(url: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(url, init);
    setConnected(true);
    return response;
  } catch (error) {
    if (!init.signal?.aborted) setConnected(false);
    throw error;
  }
}

/** The response of a successful request. Throws ApiError. */
export async function callRaw(path: string, options: CallOptions = {}): Promise<Response> {
  const { method = "GET", body, form, version, signal } = options;
  const response = await watched(`/admin/api${path}`, {
    method,
    headers: {
      ...(method !== "GET" && { "x-csrf-token": csrfToken }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(version !== undefined && { "if-match": `"${version}"` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(form && { body: form }),
    ...(signal && { signal }),
  });
  // The requests that sign in and ask for the session handle 401 themselves.
  if (response.status === 401 && !path.startsWith("/session")) onUnauthorized();
  if (!response.ok) throw await readError(response);
  return response;
}

export async function call<Result>(path: string, options: CallOptions = {}): Promise<Result> {
  const response = await callRaw(path, options);
  return (response.status === 204 ? undefined : await response.json()) as Result;
}

/** A proxy between the browser and the gateway may send an error that is not JSON. */
export async function readError(response: Response): Promise<ApiError> {
  const text = await response.text();
  const requestId = response.headers.get("x-request-id");
  try {
    return new ApiError(response.status, (JSON.parse(text) as AdminError).error, requestId);
  } catch {
    const message = `The server responded ${response.status} ${response.statusText}.`;
    return new ApiError(response.status, { message, type: "", param: null, code: null }, requestId);
  }
}
