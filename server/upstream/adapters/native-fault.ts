/** How vendors with a language of their own say no: a status, a sentence somewhere, and now and then a code. */
import type { GatewayError } from "../../std/gateway-error.ts";
import type { Adapter, FaultContext } from "../adapter.ts";
import type { Upstream } from "../contract.ts";
import { type Rephrased, readRefusal, rephrase, without } from "./rephrase.ts";
import { readFault, wordsIn } from "./upstream-fault.ts";

export interface Refusal {
  readonly status: number;
  /** Empty where nothing was said. */
  readonly words: string;
  readonly body: unknown;
}

/** What a refusal means where its status alone does not tell. */
export type Meant =
  | "no such model"
  | "too much at once"
  | "too many inputs"
  | "too long"
  | "no credit"
  | "wrong key"
  | "busy"
  | "wrong address";

export interface NativeFault {
  readonly recognise?: (refusal: Refusal) => Meant | false | undefined;
  /** Names of the operator's own that the vendor's words may hold. */
  readonly names?: (upstream: Upstream) => readonly (string | undefined)[];
}

export const nativeFault =
  ({ recognise, names = () => [] }: NativeFault = {}): Adapter["fault"] =>
  async (reply, context: FaultContext): Promise<GatewayError> => {
    const body = await readRefusal(reply);
    const words = without(wordsIn(body), names(context.target.upstream)) ?? "";
    const refusal = { status: reply.status, words, body };
    const meant = recognise?.(refusal) || undefined;
    return readFault(rephrase(reply, inOpenaiWords(meant, refusal)), context);
  };

function inOpenaiWords(meant: Meant | undefined, { status, words }: Refusal): Rephrased {
  const message = words === "" ? undefined : words;
  switch (meant) {
    case "no such model":
      return { status: 404, code: "model_not_found" };
    // Less of the same may pass: the call is then sent in parts.
    case "too much at once":
      return { status: 400, code: "max_tokens_per_request", message };
    case "too many inputs":
      return { status: 413, message };
    case "too long":
      return { status: 400, message };
    case "no credit":
      return { status: 429, code: "insufficient_quota" };
    case "wrong key":
      return { status: 401 };
    case "busy":
      return { status: 503 };
    case "wrong address":
      return { status: 404 };
    default:
      return aboutRequest.has(status) ? { status, message } : { status };
  }
}

/** Other refusals speak of our account, in words that are not for callers. */
const aboutRequest: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);
