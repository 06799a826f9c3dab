/**
 * Asks another gateway which models a key may use, without a request to a vendor. An embeddings request without `input`
 * is refused after the authorization; for image models the list of models answers, so that no image is generated.
 */
import type { ModelKind } from "../../../contract/model-kinds.ts";

/** `unknown`: the gateway did not say, such as because of a rate limit. */
export type Access = "allowed" | "refused" | "unknown";

export interface OtherGateway {
  /** Without `/v1`. */
  readonly url: string;
  readonly fetch: typeof fetch;
}

const timeoutMs = 30_000;

export const request = (
  { url, fetch: send }: OtherGateway,
  path: string,
  key: string,
  body?: unknown,
): Promise<Response> =>
  send(`${url}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(timeoutMs),
  });

/** The access of a key to each model. */
export async function askAccess(
  gateway: OtherGateway,
  key: string,
  models: ReadonlyMap<string, ModelKind>,
): Promise<ReadonlyMap<string, Access>> {
  const listed = await listModels(gateway, key);
  const access = new Map<string, Access>();
  for (const [model, kind] of models) {
    if (kind === "image") access.set(model, inList(listed, model));
    else access.set(model, await askEmbeddings(gateway, key, model));
  }
  return access;
}

/** A key that may not see the list may still use a model. */
const inList = (listed: ReadonlySet<string> | undefined, model: string): Access => {
  if (!listed) return "unknown";
  return listed.has(model) ? "allowed" : "refused";
};

async function listModels(
  gateway: OtherGateway,
  key: string,
): Promise<ReadonlySet<string> | undefined> {
  const response = await request(gateway, "/v1/models", key);
  const text = await response.text();
  try {
    const { data } = JSON.parse(text) as { data: readonly { id: string }[] };
    return response.ok ? new Set(data.map(({ id }) => id)) : undefined;
  } catch {
    return undefined;
  }
}

const noSuchModel =
  /invalid model name|model[^.]{0,80}(?:not found|does not exist|not exist)|no available channel/i;

/** LiteLLM may allow a key one of the two paths. */
async function askEmbeddings(gateway: OtherGateway, key: string, model: string): Promise<Access> {
  const access = await askAt("/v1/embeddings", gateway, key, model);
  return access === "refused" ? askAt("/embeddings", gateway, key, model) : access;
}

async function askAt(
  path: string,
  gateway: OtherGateway,
  key: string,
  model: string,
): Promise<Access> {
  const response = await request(gateway, path, key, { model });
  const text = await response.text();
  const { status } = response;
  if (status === 429) return "unknown";
  if (status === 401 || status === 403 || status === 404 || status === 503) return "refused";
  return noSuchModel.test(text) ? "refused" : "allowed";
}
