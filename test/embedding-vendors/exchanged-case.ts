/** Targets of vendors whose key goes to a token service only: test/wire/token-exchange.test.ts holds that way. */
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
