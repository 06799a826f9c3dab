/** Reads LiteLLM's config.yaml. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "yaml";
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { UsageError } from "../../command.ts";
import { emptySource, environmentSection, type LitellmSource, listOf, objectOf } from "./source.ts";

export function readLitellmConfig(path: string): LitellmSource {
  const config = readFile(path, 0);
  if (!("model_list" in config) && !("general_settings" in config))
    throw new UsageError(
      `${path} is no configuration of LiteLLM: it has neither model_list nor general_settings.`,
    );
  const { model_list, credential_list, ...sections } = config;
  return {
    ...emptySource,
    ...settingsOf(sections),
    models: listOf(model_list).map((entry, index) => {
      const { model_name, litellm_params, model_info } = objectOf(entry);
      return {
        model_name: String(model_name ?? ""),
        litellm_params: objectOf(litellm_params),
        model_info: objectOf(model_info),
        where: `${path}, model_list[${index}]`,
      };
    }),
    credentials: new Map(
      listOf(credential_list).map((entry) => {
        const { credential_name, credential_values } = objectOf(entry);
        return [String(credential_name), objectOf(credential_values)];
      }),
    ),
  };
}

/** The sections with settings, which are in the file or in the database. */
export function settingsOf({
  router_settings,
  general_settings,
  ...others
}: JsonObject): Pick<
  LitellmSource,
  "routerSettings" | "otherSettings" | "environment" | "masterKey"
> {
  const { master_key, ...general } = objectOf(general_settings);
  return {
    routerSettings: objectOf(router_settings),
    otherSettings: new Map(Object.entries({ general_settings: general, ...others })),
    environment: objectOf(others[environmentSection]),
    masterKey: master_key,
  };
}

const maxIncludes = 10;

/** `include` of LiteLLM names further files, whose lists are appended. */
function readFile(path: string, depth: number): JsonObject {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(
      `${path} cannot be read: ${error instanceof Error ? error.message : error}`,
    );
  }
  let config: JsonObject;
  try {
    config = objectOf(parse(text));
  } catch (error) {
    throw new UsageError(
      `${path} is not valid YAML: ${error instanceof Error ? error.message : error}`,
    );
  }
  const { include, ...own } = config;
  if (depth > maxIncludes) throw new UsageError(`${path} includes itself.`);
  const merged: Record<string, unknown> = { ...own };
  for (const name of listOf(include)) {
    const included = readFile(join(dirname(path), String(name)), depth + 1);
    for (const [key, value] of Object.entries(included))
      merged[key] = Array.isArray(value) ? [...listOf(merged[key]), ...value] : value;
  }
  return merged;
}
