/** The handlers of every route that serves or lists models: OpenAI's, its legacy engines, and Azure's. */

import { decodePathSegment } from "../http/route.ts";
import type { Handlers } from "../http/routes.ts";
import type { Endpoint } from "../pipeline/endpoint.ts";
import type { Serve } from "../pipeline/handle-request.ts";
import type { StageLists } from "../pipeline/stages.ts";
import type { Caller } from "../request/caller.ts";
import type { IncomingRequest, OutgoingResponse } from "../request/http-types.ts";
import type { EditQuery, ImageResponse } from "../upstream/contract.ts";
import { embeddingsEndpoint, engineEmbeddingsEndpoint } from "./embeddings.ts";
import { generationsEndpoint } from "./generations.ts";
import { createModels, engineName, type ModelsOptions } from "./models.ts";

interface ModelHandlerOptions extends ModelsOptions {
  readonly serve: Serve;
  readonly edits: Endpoint<EditQuery, ImageResponse>;
  readonly maxInputs: number;
  readonly send: StageLists;
}

export function createModelHandlers(options: ModelHandlerOptions) {
  const { serve, send, maxInputs, edits } = options;
  const models = createModels(options);
  const endpoint = embeddingsEndpoint({ maxInputs });
  const engineEndpoint = engineEmbeddingsEndpoint({ maxInputs });
  return {
    embeddings: (incoming, { model }: DeploymentPath) =>
      serve(endpoint, send.embeddings, incoming, deploymentOf(model)),
    generations: (incoming, { model }: DeploymentPath) =>
      serve(generationsEndpoint, send.generations, incoming, deploymentOf(model)),
    edits: (incoming, { model }: DeploymentPath) =>
      serve(edits, send.edits, incoming, deploymentOf(model)),
    engineEmbeddings: (incoming, { model }) =>
      serve(engineEndpoint, send.embeddings, incoming, engineName(model)),
    models: models.list,
    model: models.get,
    engines: models.listEngines,
    engine: models.getEngine,
  } satisfies Partial<Handlers>;
}

/** Aliases for Azure clients name the model, as a deployment, in the path. */
interface DeploymentPath {
  readonly model?: string;
}

const deploymentOf = (segment: string | undefined): string | undefined =>
  segment === undefined ? undefined : decodePathSegment(segment);

/** Serves a request of a caller that is authenticated already. */
type ServeAs = (incoming: IncomingRequest, caller: Caller) => Promise<OutgoingResponse>;

/** The same endpoints for callers that were authenticated without an API key, such as users of the console. */
export function createServeAs({
  serve,
  send,
  maxInputs,
  edits,
}: Pick<ModelHandlerOptions, "serve" | "send" | "maxInputs" | "edits">): Record<
  keyof StageLists,
  ServeAs
> {
  const endpoint = embeddingsEndpoint({ maxInputs });
  return {
    embeddings: (incoming, caller) => serve(endpoint, send.embeddings, incoming, undefined, caller),
    generations: (incoming, caller) =>
      serve(generationsEndpoint, send.generations, incoming, undefined, caller),
    edits: (incoming, caller) => serve(edits, send.edits, incoming, undefined, caller),
  };
}
