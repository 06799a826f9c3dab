/** The settings of an API key from the body of a request, and which of them a user may choose. */
import type { z } from "zod";
import { can, type Role } from "../../contract/admin.ts";
import { message } from "../../contract/messages/message.ts";
import type { keyBody } from "../../contract/schemas/keys.ts";
import { budgetOf, configuredLimits } from "../config/build/limits-and-budgets.ts";
import type { Snapshot } from "../config/snapshot.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { KeySettings } from "../storage/sql/stored-key.ts";
import { maySeeProject } from "./actor.ts";
import type { AdminApiContext } from "./admin-route.ts";

export const settingsOf = (body: z.output<typeof keyBody>): KeySettings => ({
  ...(body.defaults && { defaults: withoutUndefined(body.defaults) }),
  ...(body.project !== undefined && { project: body.project }),
  ...configuredLimits(body.limits),
  ...budgetOf(body.budget),
  ...(body.parameters !== undefined && { parameters: body.parameters }),
  ...(body.priority !== undefined && { priority: body.priority }),
  ...(body.showCost && { showCost: true }),
  ...(body.expires !== undefined && { expiresAt: Date.parse(body.expires) }),
});

const withoutUndefined = (value: object): Record<string, string> =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));

export function requireProject(
  context: AdminApiContext,
  project: string | null,
  { projects }: Snapshot,
): void {
  const actor = context.get("actor");
  if (project !== null && maySeeProject(actor, project) && !projects?.has(project)) {
    throw new GatewayError(
      "invalid_value",
      message("create_project_first", { project: JSON.stringify(project) }),
      { param: "project" },
    );
  }
  if (maySeeProject(actor, project)) {
    if (project === null || !projects?.get(project)?.archived) return;
    throw new GatewayError(
      "invalid_value",
      message("project_archived", { project: JSON.stringify(project) }),
      { param: "project" },
    );
  }
  const reason =
    actor.projects?.length === 0
      ? message("no_project_for_key")
      : message("choose_own_project", { projects: actor.projects?.join(", ") ?? "" });
  throw new GatewayError("permission_denied", reason, { param: "project" });
}

/** Costs are the operator's: a developer may hide them, and not show them. */
export function requireMayShowCost(
  role: Role,
  before: KeySettings | undefined,
  { showCost }: KeySettings,
): void {
  if (can(role, "administer") || !showCost || before?.showCost) return;
  throw new GatewayError("permission_denied", message("show_cost_locked"), { param: "showCost" });
}

export function requireFuture(expiresAt: number | undefined, now: number): void {
  if (expiresAt === undefined || expiresAt > now) return;
  throw new GatewayError("invalid_value", message("key_expired"), { param: "expires" });
}
