/** Variables that are named like settings and are none: most likely slips, which would otherwise have no effect and no trace. */

import { nearestMatch } from "../lib/edit-distance.ts";
import { settingsTable } from "../settings.ts";

export interface UnknownSetting {
  readonly name: string;
  /** A setting that it may be meant for. */
  readonly nearest: string | undefined;
}

/** From the launcher, from the process that crashed before this one, and what README.md tells clients to keep their key in. */
const ours: ReadonlySet<string> = new Set(["VEXEL_WRAPPER", "VEXEL_CRASHES", "VEXEL_KEY"]);

/** Kubernetes sets these in every container beside a service that is called "vexel". */
const ofKubernetes = /^VEXEL_(SERVICE_(HOST|PORT)(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)$/;
const kubernetesPort = /^(tcp|udp|sctp):\/\//i;

const byEnding = new Map(
  Object.keys(settingsTable).map((name) => [name.replace(/^VEXEL_/, ""), name]),
);

/** `configuration`: the text of vexel.yaml, which may use any variable. */
export const unknownSettings = (
  env: Readonly<Record<string, string | undefined>>,
  configuration = "",
): UnknownSetting[] =>
  Object.keys(env)
    .filter((name) => name.startsWith("VEXEL_") && !Object.hasOwn(settingsTable, name))
    .filter((name) => !ours.has(name) && !ofKubernetes.test(name))
    .filter((name) => name !== "VEXEL_PORT" || !kubernetesPort.test(env[name] ?? ""))
    .filter((name) => !configuration.includes(name))
    .toSorted()
    .map((name) => {
      const meant = nearestMatch(name.slice("VEXEL_".length), byEnding.keys());
      return { name, nearest: meant === undefined ? undefined : byEnding.get(meant) };
    });
