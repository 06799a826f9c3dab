/**
 * The playgrounds of the console (/admin/api/playground): requests to OpenAI's endpoints, authenticated by a session
 * instead of an API key. Limits, budgets and the ledger treat them like any other request, under the user's id.
 */

import { message } from "../../contract/messages/message.ts";
import { keyBudgets, keyLimits } from "../config/build/limits-and-budgets.ts";
import type { Key, Snapshot } from "../config/snapshot.ts";
import { refuseMethod, unknownUrl } from "../http/dispatch.ts";
import { brand } from "../lib/branded.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Caller } from "../request/caller.ts";
import type { IncomingRequest, OutgoingResponse } from "../request/http-types.ts";
import { type Actor, withCapability } from "./actor.ts";
import { type AdminOperation, adminApiDocument } from "./admin-route.ts";
import {
  type AuthenticationOptions,
  authenticateActor,
  refuseOldPassword,
} from "./sign-in/authenticate-actor.ts";
import { checkOrigin } from "./sign-in/check-origin.ts";

type ServeAs = (incoming: IncomingRequest, caller: Caller) => Promise<OutgoingResponse>;

export interface PlaygroundOptions extends AuthenticationOptions {
  readonly snapshot: () => Snapshot;
  readonly serve: {
    readonly embeddings: ServeAs;
    readonly generations: ServeAs;
    readonly edits: ServeAs;
  };
}

const prefix = "/admin/api/playground";

const operation = (path: `/${string}`, summary: string): AdminOperation => ({
  method: "POST",
  path: `/playground${path}`,
  needs: "develop",
  scope: "project",
  summary,
  // The bodies and responses are those of the public API.
  response: "application/json",
});

/** For the OpenAPI document and the laws over all routes. */
export const playgroundOperations: readonly AdminOperation[] = [
  operation("/embeddings", "Create embeddings, as POST /v1/embeddings."),
  operation("/images/generations", "Generate images, as POST /v1/images/generations."),
  operation("/images/edits", "Edit images, as POST /v1/images/edits."),
];

export const isPlaygroundPath = (path: string): boolean =>
  path === prefix || path.startsWith(`${prefix}/`);

export function createPlayground({ snapshot, serve, ...options }: PlaygroundOptions) {
  const endpoints: ReadonlyMap<string, ServeAs> = new Map([
    [`${prefix}/embeddings`, serve.embeddings],
    [`${prefix}/images/generations`, serve.generations],
    [`${prefix}/images/edits`, serve.edits],
  ]);
  return async (incoming: IncomingRequest): Promise<OutgoingResponse> => {
    const { method, path, headers } = incoming;
    const endpoint = endpoints.get(path);
    if (!endpoint) throw unknownUrl(method, path, adminApiDocument);
    if (method !== "POST") return refuseMethod(method, path, ["POST"]);
    const request = {
      method,
      header: (name: string) => headers.get(name) ?? undefined,
      address: incoming.clientAddress,
    };
    checkOrigin(request.header, incoming.publicUrl);
    const { actor, session } = await authenticateActor(request, options);
    refuseOldPassword(session?.user);
    const developer = withCapability(actor, "develop", "project");
    const project = headers.get("vexel-project");
    return endpoint(incoming, playgroundCaller(developer, snapshot(), project));
  };
}

/** `project`: the project that pays. If absent, the first one of the user that exists and is not archived, or none. */
function playgroundCaller(actor: Actor, snapshot: Snapshot, project: string | null): Caller {
  const exists = (name: string): boolean => snapshot.projects?.has(name) ?? false;
  const isInUse = (name: string): boolean =>
    exists(name) && !snapshot.projects?.get(name)?.archived;
  const payer = project ?? actor.projects?.find(isInUse);
  if (payer === undefined && actor.projects !== null) {
    throw new GatewayError("permission_denied", message("no_project_to_charge"));
  }
  if (payer !== undefined && actor.projects?.includes(payer) === false) {
    throw new GatewayError("permission_denied", message("not_a_member", { project: payer }));
  }
  if (payer !== undefined && !exists(payer)) {
    throw new GatewayError(
      "invalid_value",
      message("no_such_project", { project: JSON.stringify(payer) }),
      {
        param: "vexel-project",
      },
    );
  }
  if (payer !== undefined && snapshot.projects?.get(payer)?.archived) {
    throw new GatewayError(
      "invalid_value",
      message("project_archived", { project: JSON.stringify(payer) }),
      { param: "vexel-project" },
    );
  }
  const key: Key = {
    id: actor.userId ?? "admin-token",
    name: actor.name,
    // Not a SHA-256 hash in hex, so no presented API key matches it.
    hash: "",
    models: ["*"],
    ...(payer !== undefined && { project: payer }),
    source: "store",
  };
  const { projects } = snapshot;
  return brand<Key, "authenticated">({
    ...key,
    ...keyLimits(key, projects),
    ...keyBudgets(key, projects),
  });
}
