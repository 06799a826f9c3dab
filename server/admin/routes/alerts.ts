/** /alerts: the alert rules with their state and their latest values. */

import { alertEntitySchema, alertValuesSchema } from "../../../contract/admin/alerts.ts";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import type { AlertEntity, AlertValue, AlertValues } from "../../../contract/admin.ts";
import { alert, silenceBody } from "../../../contract/schemas/alerts.ts";
import type { EntityView } from "../../config/entities/entity-views.ts";
import { valuesOf } from "../../events/alerts/recent-values.ts";
import type { Silence, StoredAlert } from "../../storage/sql/alert-store.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import { type AdminApiContext, type AdminRoute, senderOf } from "../admin-route.ts";
import { entityChanges } from "../entities/change-entities.ts";
import { entityRoutes } from "../entities/entity-routes.ts";
import { shownEntity } from "../entities/show-entity.ts";
import { readBody } from "../read-body.ts";
import { respondWithList } from "../respond-with-list.ts";

export function alertRoutes(options: AdminDependencies): readonly AdminRoute[] {
  const changes = entityChanges("alert", options);
  const { snapshot, alerts, audit } = options;
  const find = async (id: string): Promise<StoredAlert | undefined> =>
    (await alerts.list()).find(({ name }) => name === id);
  /** None of a rule that is not in force. */
  const pointsOf = (id: string, found: StoredAlert | undefined) => {
    const rule = snapshot().alerts?.get(id);
    return (rule && valuesOf(rule, found?.values)) ?? [];
  };

  const shown = (
    view: EntityView,
    found: StoredAlert | undefined,
    silence: Silence | undefined,
  ): AlertEntity => {
    const value = found?.data.value;
    const [measuredAt, current = null] = pointsOf(view.id, found).at(-1) ?? [];
    return {
      ...shownEntity<AlertValue>(view),
      state: found?.isFiring ? "firing" : "ok",
      changed_at: timeOf(found?.since),
      last_value: typeof value === "number" ? value : null,
      current_value: current,
      measured_at: timeOf(measuredAt),
      silence: silence ? shownSilence(silence) : null,
    };
  };

  const listAll = async (context: AdminApiContext): Promise<Response> => {
    const states = new Map((await alerts.list()).map((each) => [each.name, each]));
    const silences = await alerts.silences();
    return respondWithList(context, await changes.list(), (view) =>
      shown(view, states.get(view.id), silences.get(view.id)),
    );
  };

  const show = async (view: EntityView): Promise<AlertEntity> =>
    shown(view, await find(view.id), (await alerts.silences()).get(view.id));

  const values = async (context: AdminApiContext): Promise<Response> => {
    const view = await changes.find(context);
    const points = pointsOf(view.id, await find(view.id));
    const shown: AlertValues = {
      object: "alert.values",
      above: (view.value as unknown as AlertValue).above,
      data: points.map(([at, value]) => ({ at: new Date(at).toISOString(), value })),
    };
    return context.json(shown);
  };

  /** A rule of the file, too: a silence is no change of the rule. */
  const silence = async (context: AdminApiContext): Promise<Response> => {
    const view = await changes.find(context);
    const { minutes, reason } = await readBody(context, silenceBody);
    const before = (await alerts.silences()).get(view.id);
    const sender = senderOf(context);
    const after = await alerts.silence(view.id, minutes, { reason, by: sender.actor });
    await audit.record({
      ...sender,
      action: "alert.silenced",
      subject: view.id,
      before: before && shownSilence(before),
      after: shownSilence(after),
    });
    return context.json(await show(view));
  };

  const endSilence = async (context: AdminApiContext): Promise<Response> => {
    const view = await changes.find(context);
    const before = (await alerts.silences()).get(view.id);
    if (before) {
      await alerts.endSilence(view.id);
      await audit.record({
        ...senderOf(context),
        action: "alert.unsilenced",
        subject: view.id,
        before: shownSilence(before),
      });
    }
    return context.body(null, 204);
  };

  const { list, ...others } = entityRoutes({
    changes,
    path: "/alerts",
    noun: "an alert rule",
    entity: alertEntitySchema,
    body: alert,
    maxEntries: listBounds.alerts,
    scope: "all-projects",
    show,
  });
  return [
    { ...list, needs: "view", handle: listAll },
    ...Object.values(others),
    {
      method: "GET",
      path: "/alerts/:id/values",
      needs: "view",
      scope: "all-projects",
      summary: "Show the latest values of an alert rule.",
      response: alertValuesSchema,
      handle: values,
    },
    {
      method: "PUT",
      path: "/alerts/:id/silence",
      needs: "administer",
      scope: "all-projects",
      summary: "Silence an alert rule for some time: no webhook gets its events.",
      body: silenceBody,
      response: alertEntitySchema,
      handle: silence,
    },
    {
      method: "DELETE",
      path: "/alerts/:id/silence",
      needs: "administer",
      scope: "all-projects",
      summary: "End the silence of an alert rule.",
      response: null,
      handle: endSilence,
    },
  ];
}

const shownSilence = ({ until, reason, by }: Silence) => ({
  until: new Date(until).toISOString(),
  reason,
  by,
});

/** 0: never. */
const timeOf = (at = 0): string | null => (at === 0 ? null : new Date(at).toISOString());
