/** /settings: the settings in force, without secrets. */
import type { z } from "zod";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { pageSchema } from "../../../contract/admin/page.ts";
import { settingSchema } from "../../../contract/admin/settings.ts";
import { type Setting, type SettingGroup, secretMask } from "../../../contract/admin.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";

export interface SettingsRoutesOptions {
  /** The settings in force. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** The schema of each setting, with its default and its description. */
  readonly table: Readonly<Record<string, z.ZodType>>;
  /** The group of each setting. */
  readonly groups: Readonly<Record<string, SettingGroup>>;
  /** The names of the settings whose values are not shown. */
  readonly secrets: ReadonlySet<string>;
}

export function settingsRoutes({
  settings,
  table,
  groups,
  secrets,
}: SettingsRoutesOptions): readonly AdminRoute[] {
  const shown = Object.entries(table).map(([name, schema]): Setting => {
    const value = String(settings[name]);
    const isSecret = secrets.has(name) && value !== "";
    return {
      object: "setting",
      name,
      value: isSecret ? secretMask : withoutCredentials(value),
      source: value === String(schema.parse(undefined)) ? "default" : "environment",
      group: groups[name] ?? "network",
      description: schema.description ?? "",
    };
  });
  const list = async (context: AdminApiContext): Promise<Response> =>
    context.json({ object: "list", data: shown, next_cursor: null });
  return [
    {
      method: "GET",
      path: "/settings",
      needs: "administer",
      scope: "all-projects",
      summary: "List the settings in force. Secrets are masked.",
      response: pageSchema(settingSchema, listBounds.settings),
      handle: list,
    },
  ];
}

/** An address may have a user name, a password, and tokens in its query: that of an OpenTelemetry collector does. */
const withoutCredentials = (value: string): string =>
  value
    .replace(/(:\/\/)[^/?#]*@/, `$1${secretMask}@`)
    .replace(/^([a-z][a-z\d+.-]*:\/\/[^?]*\?).+$/i, `$1${secretMask}`);
