/** /alerts: the alert rules with their state. */

import { alertEntitySchema } from "../../../contract/admin/alerts.ts";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import type { AlertEntity, AlertValue } from "../../../contract/admin.ts";
import { alert } from "../../../contract/schemas/alerts.ts";
import type { EntityView } from "../../config/entities/entity-views.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import type { AdminRoute } from "../admin-route.ts";
import { entityChanges } from "../entities/change-entities.ts";
import { entityRoutes } from "../entities/entity-routes.ts";
import { shownEntity } from "../entities/show-entity.ts";

export function alertRoutes(options: AdminDependencies): readonly AdminRoute[] {
  const show = async (view: EntityView): Promise<AlertEntity> => {
    const found = (await options.alerts.list()).find(({ name }) => name === view.id);
    const value = found?.data.value;
    return {
      ...shownEntity<AlertValue>(view),
      state: found?.isFiring ? "firing" : "ok",
      changed_at: found ? new Date(found.since).toISOString() : null,
      last_value: typeof value === "number" ? value : null,
    };
  };

  const { list, ...others } = entityRoutes({
    changes: entityChanges("alert", options),
    path: "/alerts",
    noun: "an alert rule",
    entity: alertEntitySchema,
    body: alert,
    maxEntries: listBounds.alerts,
    scope: "all-projects",
    show,
  });
  return [{ ...list, needs: "view" }, ...Object.values(others)];
}
