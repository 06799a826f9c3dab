/** /model-access: which API keys may use a model. */
import { z } from "zod";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { modelAccessSchema } from "../../../contract/admin/models.ts";
import type { ModelAccess } from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import { allowsModel } from "../../auth/authenticate.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { maySeeProject } from "../actor.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { readQuery } from "../read-query.ts";

const query = z.object({ model: z.string().min(1).max(500).describe("The id of the model.") });

export function modelAccessRoutes({ snapshot, now }: AdminDependencies): readonly AdminRoute[] {
  const get = async (context: AdminApiContext): Promise<Response> => {
    const { model } = readQuery(context, query);
    const { models, keys } = snapshot();
    const found = models.get(model);
    if (!found) {
      throw new GatewayError("model_not_found", message("no_such_model", { model }), {
        param: "model",
      });
    }
    const allowed = [...keys.values()].filter(
      (key) =>
        maySeeProject(context.get("actor"), key.project ?? null) &&
        (key.expiresAt === undefined || key.expiresAt > now()) &&
        allowsModel(key.models, found),
    );
    return context.json({
      object: "model_access",
      model,
      key_count: allowed.length,
      keys: allowed
        .slice(0, listBounds.accessKeys)
        .map(({ id, name, project }) => ({ id, name, project: project ?? null })),
    } satisfies ModelAccess);
  };
  return [
    {
      method: "GET",
      path: "/model-access",
      needs: "develop",
      scope: "project",
      summary: "List the API keys that may use a model.",
      query,
      response: modelAccessSchema,
      handle: get,
    },
  ];
}
