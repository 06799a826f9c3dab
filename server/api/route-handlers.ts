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
  const own: Pick<Handlers, "embeddings" | "generations" | "edits"> = {
    embeddings: (incoming) => serve(endpoint, send.embeddings, incoming),
    generations: (incoming) => serve(generationsEndpoint, send.generations, incoming),
    edits: (incoming) => serve(edits, send.edits, incoming),
  };
  const deployed: Pick<
    Handlers,
    "deploymentEmbeddings" | "deploymentGenerations" | "deploymentEdits"
  > = {
    deploymentEmbeddings: (incoming, { model }) =>
      serve(endpoint, send.embeddings, incoming, decodePathSegment(model)),
    deploymentGenerations: (incoming, { model }) =>
      serve(generationsEndpoint, send.generations, incoming, decodePathSegment(model)),
    deploymentEdits: (incoming, { model }) =>
      serve(edits, send.edits, incoming, decodePathSegment(model)),
  };
  return {
    ...own,
    ...deployed,
    models: models.list,
    model: models.get,
    engines: models.listEngines,
    engine: models.getEngine,
    engineEmbeddings: (incoming, { model }) =>
      serve(engineEndpoint, send.embeddings, incoming, engineName(model)),
    azureEmbeddings: own.embeddings,
    azureGenerations: own.generations,
    azureEdits: own.edits,
    azureModels: models.list,
    azureModel: models.get,
    v1DeploymentEmbeddings: deployed.deploymentEmbeddings,
    v1DeploymentGenerations: deployed.deploymentGenerations,
    v1DeploymentEdits: deployed.deploymentEdits,
    azureDeploymentEmbeddings: deployed.deploymentEmbeddings,
    azureDeploymentGenerations: deployed.deploymentGenerations,
    azureDeploymentEdits: deployed.deploymentEdits,
    deploymentModels: models.list,
    deploymentModel: models.get,
    deploymentEngines: models.listEngines,
    deploymentEngine: models.getEngine,
    deploymentEngineEmbeddings: (incoming, { model }) =>
      serve(engineEndpoint, send.embeddings, incoming, engineName(model)),
    undeployedEmbeddings: own.embeddings,
    undeployedGenerations: own.generations,
    undeployedEdits: own.edits,
  } satisfies Partial<Handlers>;
}

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
