/** Targets of vendors whose key goes to a token service only, as test/wire/token-exchange.test.ts verifies. */
import type { Target, Upstream } from "../../server/upstream/contract.ts";
import { targetOf } from "./bearer-case.ts";

export function targetWithoutKey(
  kind: string,
  model: string,
  more: Partial<Pick<Upstream, "baseUrl" | "options">>,
): Target {
  const target = targetOf(kind, model, more);
  const { apiKey: _, ...upstream } = target.upstream;
  return { ...target, upstream };
}
