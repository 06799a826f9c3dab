/** The free request that lists the models of an upstream, or at least checks its credential. */
import type { UpstreamRequest } from "../adapter.ts";
import { adapters } from "../adapters/index.ts";
import { bearerRequest } from "../adapters/wire/build-request.ts";
import { memberOf } from "../adapters/wire/members.ts";
import type { Upstream } from "../contract.ts";
import { kinds } from "../kinds.ts";

export interface FreeRequest {
  readonly request: UpstreamRequest;
  /** The request asks for a list of models, which not every server has. */
  readonly isList: boolean;
  /** The ids of models in the response. Undefined if the response lists none. */
  readonly modelIds: (body: unknown) => readonly unknown[] | undefined;
}

const [maxModels, maxIdLength] = [2000, 200];

/** Undefined if the upstream runs inside the gateway. */
export function freeRequest(upstream: Upstream): FreeRequest | undefined {
  const adapter = adapters.get(upstream.kind);
  if (!adapter) return undefined;
  if (adapter.models) {
    return {
      request: adapter.models.request(upstream),
      isList: true,
      modelIds: adapter.models.read,
    };
  }
  return adapter.probe
    ? { request: adapter.probe(upstream), isList: false, modelIds: () => undefined }
    : { request: openaiList(upstream), isList: true, modelIds: openaiModelIds };
}

/** OpenAI's list of models, which most servers have. */
function openaiList(upstream: Upstream): UpstreamRequest {
  const baseUrl = upstream.baseUrl ?? kinds.get(upstream.kind)?.baseUrl ?? "";
  return bearerRequest(`${baseUrl}/models`, upstream);
}

/** Some servers send the list without an object around it. */
function openaiModelIds(body: unknown): readonly unknown[] | undefined {
  const list = Array.isArray(body) ? body : memberOf(body, "data");
  return Array.isArray(list) ? list.map((entry) => memberOf(entry, "id")) : undefined;
}

/** Only ids that a configuration accepts, once each. */
export const validModelIds = (ids: readonly unknown[]): readonly string[] => {
  const valid = ids.filter(
    (id): id is string =>
      typeof id === "string" && id.length <= maxIdLength && /^[^\s\p{C}]+$/u.test(id),
  );
  return [...new Set(valid)].slice(0, maxModels);
};
