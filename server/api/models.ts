/** GET /v1/models and /v1/engines, as a list and one by one: only the models that the API key may use. */
import { authenticate, mayUse, modelNotFound } from "../auth/authenticate.ts";
import type { Model, Snapshot } from "../config/snapshot.ts";
import { decodePathSegment, json } from "../http/route.ts";
import type { Caller } from "../request/caller.ts";
import type { IncomingRequest, OutgoingResponse } from "../request/http-types.ts";
import { createSendList, type ListMemory } from "./send-list.ts";

export interface ModelsOptions extends ListMemory {
  readonly snapshot: () => Snapshot;
  /**
   * The gateway's start in Unix seconds. OpenAI's format requires a date for each model, and the gateway reports its
   * start.
   */
  readonly startedAt: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The most bytes of one model in a list. Each character of a text may be escaped. */
const maxListedBytes = ({ id, ownedBy, description = "" }: Model): number =>
  6 * (id.length + ownedBy.length + description.length) + 300;

export function createModels({ snapshot, startedAt, now, responseMemory }: ModelsOptions) {
  const sendList = createSendList({ responseMemory });
  const show = (model: Model) => ({
    id: model.id,
    object: "model",
    created: startedAt,
    owned_by: model.ownedBy,
    kind: model.kind,
    ...(model.dimensions !== undefined && { dimensions: model.dimensions }),
    ...(model.readsImages === true && { input_modalities: ["text", "image"] }),
    ...(model.kind === "image" && { max_images: model.maxImages }),
    ...(model.shutdownDate !== undefined && {
      ends_on: model.shutdownDate,
      // OpenAI's own member, for clients that read its Model type.
      shutdown_date: model.shutdownDate,
    }),
    ...(model.description !== undefined && { description: model.description }),
  });
  const usable = (incoming: IncomingRequest): { caller: Caller; models: Model[] } => {
    const current = snapshot();
    const caller = authenticate(incoming.headers, current, now());
    return {
      caller,
      models: [...current.models.values()].filter((model) => mayUse(caller, model)),
    };
  };
  const list = (incoming: IncomingRequest, shown: (model: Model) => object) => {
    const { caller, models } = usable(incoming);
    return sendList(incoming, {
      keyId: caller.id,
      maxBytes: models.reduce((sum, model) => sum + maxListedBytes(model), 0),
      read: async () => ({ object: "list", data: models.map(shown) }),
    });
  };
  // OpenAI's format of engines until 2023 (openai/openai-openapi, 1.2.0).
  const showEngine = ({ id, ownedBy }: Model) => ({
    id,
    object: "engine",
    owner: ownedBy,
    ready: true,
  });
  const find = (incoming: IncomingRequest, id: string): Model => {
    const { models } = usable(incoming);
    const model = models.find((candidate) => candidate.id === id);
    if (model) return model;
    throw modelNotFound(
      id,
      models.map((each) => each.id),
    );
  };
  return {
    list: async (incoming: IncomingRequest): Promise<OutgoingResponse> => list(incoming, show),
    get: async (
      incoming: IncomingRequest,
      { model }: { readonly model: string },
    ): Promise<OutgoingResponse> => json(show(find(incoming, decodePathSegment(model)))),
    listEngines: async (incoming: IncomingRequest): Promise<OutgoingResponse> =>
      list(incoming, showEngine),
    getEngine: async (
      incoming: IncomingRequest,
      { model }: { readonly model: string },
    ): Promise<OutgoingResponse> => json(showEngine(find(incoming, engineName(model)))),
  };
}

/** Clients with engines encode a space as `+`, so a literal plus arrives as %2B. */
export const engineName = (part: string): string => decodePathSegment(part.replaceAll("+", " "));
