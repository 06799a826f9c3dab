/**
 * Finds VEXEL_* environment variables that are not settings. They are most likely typos, which would be ignored
 * silently.
 */

import { nearestMatch } from "./lib/edit-distance.ts";
import { fileVariableOf, secretSettings, settingsTable } from "./settings.ts";

interface UnknownSetting {
  readonly name: string;
  /** The setting with the most similar name, if one is similar. */
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

const known: ReadonlySet<string> = new Set([
  ...Object.keys(settingsTable),
  ...[...secretSettings].map(fileVariableOf),
]);
const settingBySuffix = new Map([...known].map((name) => [name.replace(/^VEXEL_/, ""), name]));

/** `configuration`: the text of vexel.yaml, which may reference any variable. */
export const unknownSettings = (
  env: Readonly<Record<string, string | undefined>>,
  configuration = "",
): UnknownSetting[] =>
  Object.keys(env)
    .filter((name) => name.startsWith("VEXEL_") && !known.has(name))
    .filter((name) => !internalVariables.has(name) && !kubernetesVariable.test(name))
    .filter((name) => name !== "VEXEL_PORT" || !kubernetesPort.test(env[name] ?? ""))
    .filter((name) => !configuration.includes(name))
    .toSorted()
    .map((name) => ({ name, nearest: nearestSetting(name) }));

function nearestSetting(name: string): string | undefined {
  const suffix = nearestMatch(name.slice("VEXEL_".length), settingBySuffix.keys());
  return suffix === undefined ? undefined : settingBySuffix.get(suffix);
}
