/**
 * Finds VEXEL_* environment variables that are not settings. They are most likely typos, which would be ignored
 * silently.
 */

import { nearestMatch } from "../lib/edit-distance.ts";
import { type Settings, settingsTable } from "../settings.ts";

export interface UnknownSetting {
  readonly name: string;
  /** The new name of a former setting, or else the setting with the most similar name, if one is similar. */
  readonly nearest: string | undefined;
}

/** Variables of the launcher and of the restart after a crash, and the client's API key in README.md. */
const internalVariables: ReadonlySet<string> = new Set([
  "VEXEL_WORKER",
  "VEXEL_WRAPPER",
  "VEXEL_COMMAND",
  "VEXEL_CRASHES",
  "VEXEL_KEY",
]);

/** Kubernetes sets these in every container next to a service named "vexel". */
const kubernetesVariable = /^VEXEL_(SERVICE_(HOST|PORT)(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)$/;
const kubernetesPort = /^(tcp|udp|sctp):\/\//i;

const settingBySuffix = new Map(
  Object.keys(settingsTable).map((name) => [name.replace(/^VEXEL_/, ""), name]),
);

/** The new names of former settings, as in CHANGELOG.md: the most similar name is often another setting. */
const renamedSettings: ReadonlyMap<string, keyof Settings> = new Map([
  ["VEXEL_LEDGER_FAULT", "VEXEL_ON_LEDGER_ERROR"],
  ["VEXEL_LOCAL_IDLE", "VEXEL_CHILD_PROCESS_IDLE"],
  ["VEXEL_MAX_ANSWER_BYTES", "VEXEL_MAX_RESPONSE_BYTES"],
  ["VEXEL_PICTURE_TTL", "VEXEL_IMAGE_TTL"],
  ["VEXEL_PICTURES_MAX_BYTES", "VEXEL_IMAGES_MAX_BYTES"],
  ["VEXEL_ADMIN_KEY", "VEXEL_ADMIN_TOKEN"],
  ["VEXEL_ANSWER_TTL", "VEXEL_RESPONSE_TTL"],
  ["VEXEL_ANSWERS_MAX_BYTES", "VEXEL_RESPONSES_MAX_BYTES"],
  ["VEXEL_CACHE_KEEP", "VEXEL_CACHE_PERSIST"],
  ["VEXEL_EMBEDDED_IDLE", "VEXEL_CHILD_PROCESS_IDLE"],
  ["VEXEL_MAX_IMAGE_CALLS", "VEXEL_MAX_IMAGE_REQUESTS"],
  ["VEXEL_QUEUE_MAX", "VEXEL_MAX_QUEUE"],
  ["VEXEL_QUEUE_WAIT", "VEXEL_QUEUE_TIMEOUT"],
  ["VEXEL_QUEUE_WAIT_IMAGES", "VEXEL_IMAGES_QUEUE_TIMEOUT"],
  ["VEXEL_WORKER_IDLE", "VEXEL_CHILD_PROCESS_IDLE"],
]);

/** `configuration`: the text of vexel.yaml, which may reference any variable. */
export const unknownSettings = (
  env: Readonly<Record<string, string | undefined>>,
  configuration = "",
): UnknownSetting[] =>
  Object.keys(env)
    .filter((name) => name.startsWith("VEXEL_") && !Object.hasOwn(settingsTable, name))
    .filter((name) => !internalVariables.has(name) && !kubernetesVariable.test(name))
    .filter((name) => name !== "VEXEL_PORT" || !kubernetesPort.test(env[name] ?? ""))
    .filter((name) => !configuration.includes(name))
    .toSorted()
    .map((name) => ({ name, nearest: renamedSettings.get(name) ?? nearestSetting(name) }));

function nearestSetting(name: string): string | undefined {
  const suffix = nearestMatch(name.slice("VEXEL_".length), settingBySuffix.keys());
  return suffix === undefined ? undefined : settingBySuffix.get(suffix);
}
