/**
 * Authentication and authorization. `authenticate` finds the API key (`Authorization: Bearer` or `api-key`) by its hash
 * and returns a `Caller`; `resolveModel` checks model access: it resolves a model ID to a `PermittedModel`, which only
 * a `Caller` can get.
 */

import { keyBudgets, keyLimits } from "../config/build/limits-and-budgets.ts";
import type { Key, Model, Snapshot } from "../config/snapshot.ts";
import { brand } from "../lib/branded.ts";
import { nearestMatch } from "../lib/edit-distance.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { matchesGlob } from "../lib/glob.ts";
import { secretHash } from "../lib/secret-hash.ts";
import type { Caller, PermittedModel } from "../request/caller.ts";
import type { RequestHeaders } from "../request/http-types.ts";
import { projectOfOwner } from "./owner.ts";

const scheme = "bearer ";

/** Key expiry, checked at every request. */
const isExpired = ({ expiresAt }: Key, now: number): boolean =>
  expiresAt !== undefined && expiresAt <= now;

/** Everything after the scheme, spaces included, so that a key with spaces gets its own error message. */
function bearerKey(authorization: string): string | undefined {
  const hasScheme = authorization.slice(0, scheme.length).toLowerCase() === scheme;
  return hasScheme ? authorization.slice(scheme.length).trim() : undefined;
}

/** `now`: Unix milliseconds. */
export function authenticate(headers: RequestHeaders, snapshot: Snapshot, now: number): Caller {
  const authorization = headers.get("authorization");
  const presented = (authorization && bearerKey(authorization)) || headers.get("api-key")?.trim();
  if (!presented) {
    throw new GatewayError(
      "missing_api_key",
      "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY), or in an api-key header.",
    );
  }
  // The timing of the lookup reveals nothing about a key, only about its hash.
  const key = snapshot.keys.get(secretHash(presented));
  if (!key) throw unknownKey(presented);
  if (isExpired(key, now)) {
    throw new GatewayError(
      "invalid_api_key",
      `The API key ${masked(presented)} has expired. Ask the operator of this gateway for a new one.`,
    );
  }
  if (key.archived) {
    throw new GatewayError(
      "invalid_api_key",
      `The project of the API key ${masked(presented)} is archived. Ask the operator of this gateway to restore it, or for a key of another project.`,
    );
  }
  return brand<Key, "authenticated">(key);
}

const unknownKey = (presented: string): GatewayError =>
  new GatewayError(
    "invalid_api_key",
    /\s/.test(presented)
      ? "Incorrect API key provided: it contains a space, and API keys are visible ASCII characters without spaces. Check that the Authorization or api-key header has nothing besides the key."
      : `Incorrect API key provided: ${masked(presented)}. Ask the operator of this gateway for a key.`,
  );

/** Undefined if no API key has this id. */
export const findKey = (id: string, { keys }: Pick<Snapshot, "keys">): Key | undefined =>
  keys.findById(id);

/**
 * The API key of a job, as it is now. Throws GatewayError if it is not valid any more. `now`: Unix milliseconds.
 */
export function callerOfKey(id: string, snapshot: Snapshot, now: number): Caller {
  const key = findKey(id, snapshot);
  if (key && !key.archived && !isExpired(key, now)) return brand<Key, "authenticated">(key);
  let problem = "was revoked";
  if (key) problem = key.archived ? "is of an archived project" : "has expired";
  throw new GatewayError(
    "invalid_api_key",
    `The API key of the job ${problem}. Submit the job again with a valid key.`,
  );
}

/**
 * The API key that a job was submitted with, for work that a vendor has done and bills. It is charged although the key
 * has expired. If it was revoked, the project that owns the job is.
 */
export function payerOfJob(
  { keyId, owner }: { readonly keyId: string; readonly owner: string },
  snapshot: Snapshot,
): Caller {
  const key = findKey(keyId, snapshot);
  if (key) return brand<Key, "authenticated">(key);
  const project = projectOfOwner(owner);
  const revoked: Key = {
    id: keyId,
    name: keyId,
    // Not a SHA-256 hash in hex, so no presented API key matches it.
    hash: "",
    models: ["*"],
    ...(project !== null && { project }),
    source: "built-in",
  };
  const { projects } = snapshot;
  return brand<Key, "authenticated">({ ...revoked, ...keyBudgets(revoked, projects) });
}

/** Masked like OpenAI's error messages: enough to recognize a key, not enough to use it. */
const masked = (key: string): string =>
  key.length < 16 ? "****" : `${key.slice(0, 5)}****${key.slice(-4)}`.replace(/[^\x21-\x7e]/g, "?");

/**
 * The key ID and the project of the gateway's own requests in the ledger. An operator who configures a project of this
 * name limits these requests.
 */
export const internalName = "vexel-internal";

const internalKey: Key = {
  id: internalName,
  name: internalName,
  // Not a SHA-256 hash in hex, so no presented API key matches it.
  hash: "",
  models: ["*"],
  project: internalName,
  source: "built-in",
};

/** The caller of the gateway's own requests, such as those of the drift canary. It has no API key. */
export const internalCaller = ({ projects }: Snapshot): Caller =>
  brand<Key, "authenticated">({
    ...internalKey,
    ...keyLimits(internalKey, projects),
    ...keyBudgets(internalKey, projects),
  });

export function resolveModel(
  id: string,
  kind: Model["kind"],
  caller: Caller,
  snapshot: Snapshot,
): PermittedModel {
  const model = snapshot.models.get(id);
  // The same error for an unknown and for a forbidden model, so that a key cannot probe for the models of other keys.
  if (!model || !mayUse(caller, model)) {
    throw modelNotFound(id, usableModels(caller, snapshot, kind), kind);
  }
  if (model.kind !== kind) {
    throw kind === "embedding"
      ? new GatewayError(
          "not_an_embedding_model",
          `You are not allowed to generate embeddings from this model: \`${id}\` is an image model.`,
        )
      : new GatewayError(
          "not_an_image_model",
          `The model '${id}' does not generate images: it is an embedding model.`,
          { param: "model" },
        );
  }
  return brand<Model, "permitted">(model);
}

/** Whether a list of model ids and globs allows a model. */
export function allowsModel(list: readonly string[], { id }: Pick<Model, "id">): boolean {
  for (const pattern of list) if (pattern === id || matchesGlob(pattern, id)) return true;
  return false;
}

export const mayUse = (caller: Caller, model: Model): boolean => allowsModel(caller.models, model);

/** The most model IDs that an unknown one is compared with: the comparison takes some microseconds each. */
const maxCompared = 100;

/** `usable`: the models that the key may use. Other models are never named. */
export function modelNotFound(
  id: string,
  usable: readonly string[],
  kind?: Model["kind"],
): GatewayError {
  const nearest = nearestMatch(id, usable.slice(0, maxCompared));
  const hint = nearest === undefined ? usableText(usable, kind) : `Did you mean '${nearest}'?`;
  return new GatewayError(
    "model_not_found",
    `The model \`${id.slice(0, 200)}\` does not exist or you do not have access to it. ${hint}`,
  );
}

/** The ids of the models that the key may use. `kind`: of this kind only. */
export function usableModels(
  caller: Caller,
  { models }: Pick<Snapshot, "models">,
  kind?: Model["kind"],
): string[] {
  const usable: string[] = [];
  for (const model of models.values()) {
    if ((kind === undefined || model.kind === kind) && mayUse(caller, model)) usable.push(model.id);
  }
  return usable;
}

/** The most model IDs that an error message lists. */
const maxListed = 20;

function usableText(usable: readonly string[], kind?: Model["kind"]): string {
  if (usable.length === 0) return `This API key may not use any ${kind ? `${kind} ` : ""}model.`;
  const left = usable.length - maxListed;
  const more = left > 0 ? ` and ${left} more (GET /v1/models lists them)` : "";
  return `This API key may use: ${usable.slice(0, maxListed).join(", ")}${more}.`;
}

/**
 * The default model of a request without `model`: old clients, and some of OpenAI's own, omit it in image requests. The
 * default of the API key, else of the configuration, else the only model of this kind that the key may use.
 */
export function defaultModel(kind: Model["kind"], caller: Caller, snapshot: Snapshot): string {
  for (const id of [caller.defaults?.[kind], snapshot.defaults?.[kind]]) {
    const model = id === undefined ? undefined : snapshot.models.get(id);
    if (model?.kind === kind && mayUse(caller, model)) return model.id;
  }
  const usable = usableModels(caller, snapshot, kind);
  const [only, another] = usable;
  if (only !== undefined && another === undefined) return only;
  throw missingModel(kind, usable);
}

function missingModel(kind: Model["kind"], usable: readonly string[]): GatewayError {
  const choice = usableText(usable, kind);
  return kind === "embedding"
    ? new GatewayError("missing_model", `you must provide a model parameter. ${choice}`)
    : new GatewayError("missing_parameter", `Missing required parameter: 'model'. ${choice}`, {
        param: "model",
      });
}
