/** What the user should do after an error that has ended a run. */
import type { ServerError } from "./server-error.ts";

interface Situation {
  readonly baseUrl: string;
  readonly model: string;
  /** The server has answered a request of this run. */
  readonly wasReached: boolean;
}

export function adviceFor(error: ServerError, { baseUrl, model, wasReached }: Situation): string {
  const { status, code, param } = error;
  if (error.isUnreachable && !wasReached)
    return `Is the server running at ${baseUrl}? The address is --base-url, or else OPENAI_BASE_URL, or else the gateway on this machine at PORT.`;
  if (status === 401 || status === 403)
    return `OPENAI_API_KEY must be an API key of ${baseUrl} that may use the model ${model}.`;
  if (status === 404 || code === "model_not_found" || param === "model")
    return `Check --model (${model}), and --base-url (${baseUrl}), which ends in /v1 at most servers.`;
  if (status === 400 || status === 405 || status === 422)
    return "The server refuses the options of this run: correct them.";
  return error.isTemporary || code === "insufficient_quota"
    ? "Give the same command again to continue."
    : "";
}
