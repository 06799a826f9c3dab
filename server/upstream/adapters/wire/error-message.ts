/** Finds the message in a vendor's error body. */
import { asObject } from "./members.ts";

/**
 * OpenAI's `{error: {…}}`; also `{message}`, `{detail}` and `{error: "…"}` of similar servers, DeepInfra's `{detail:
 * {error}}`, Jina's `{detail: {message}}`, Mistral's `{message: {detail: […]}}`, Cloudflare's `{errors: [{message}]}`
 * and Stability's `{errors: ["…"]}`.
 */
export function messageIn(response: unknown): string | undefined {
  const body = asObject(response);
  const error = asObject(body?.error) ?? body;
  const candidates = [
    error?.message,
    body?.error,
    validationErrors(error?.detail),
    validationErrors(asObject(error?.message)?.detail),
    errorsIn(body?.errors),
  ];
  return candidates.find(
    (message): message is string => typeof message === "string" && message !== "",
  );
}

/** FastAPI, which many compatible servers use, lists validation errors: `[{loc: ["body", "input"], msg: "…"}]`. */
function validationErrors(detail: unknown): unknown {
  if (!Array.isArray(detail)) {
    const inside = asObject(detail);
    return inside?.error ?? inside?.message ?? detail;
  }
  const message = detail.slice(0, 5).flatMap((entry: unknown) => {
    const { loc, msg } = asObject(entry) ?? {};
    if (typeof msg !== "string") return [];
    return [
      Array.isArray(loc) ? `${loc.filter((step) => step !== "body").join(".")}: ${msg}` : msg,
    ];
  });
  return message.join("; ");
}

function errorsIn(errors: unknown): unknown {
  if (!Array.isArray(errors)) return undefined;
  const message = errors.filter((entry) => typeof entry === "string");
  return message.length > 0 ? message.join("; ") : asObject(errors[0])?.message;
}
