/** The maximum number of API keys of a project: the keys of all projects are in memory. */

import { message } from "../../contract/messages/message.ts";
import type { Key } from "../config/snapshot.ts";
import { GatewayError } from "../lib/gateway-error.ts";

const maxKeysPerProject = 10_000;

/** Keys without a project are created by users who see all projects. */
export function requireKeyCapacity(
  /** Of the new keys. */
  projects: readonly (string | undefined)[],
  { keys }: { readonly keys: { values(): Iterable<Pick<Key, "project">> } },
): void {
  for (const [project, added] of Map.groupBy(projects, (each) => each)) {
    if (project === undefined) continue;
    let count = 0;
    for (const key of keys.values()) if (key.project === project) count++;
    if (count + added.length <= maxKeysPerProject) continue;
    throw new GatewayError(
      "invalid_value",
      message("too_many_keys", { project: JSON.stringify(project), count, max: maxKeysPerProject }),
      { param: "project" },
    );
  }
}
