/** The plan of an import from LiteLLM. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { type ImportPlan, mapSecrets, Secret, Upstreams } from "../plan.ts";
import type { Report } from "../report.ts";
import { planKeys } from "./plan-keys.ts";
import { planMasterKey } from "./plan-master-key.ts";
import { planModels } from "./plan-models.ts";
import { reportOtherParts } from "./report-others.ts";
import { siteLosses } from "./site-losses.ts";
import type { LitellmSource } from "./source.ts";

/** `now`: Unix milliseconds. */
export function planLitellm(
  source: LitellmSource,
  report: Report,
  resolve: (secret: Secret) => string | undefined,
  now: number,
): ImportPlan {
  const upstreams = new Upstreams();
  const planned = planModels(source, upstreams, report);
  const { models } = planned;
  const { keys, projects } = planKeys(source, planned, report, now);
  const master = planMasterKey(
    source.masterKey,
    (secret) => resolve(withValue(secret, source.environment)),
    { models: [...models.keys()], ofSite: siteLosses(source) },
    report,
    now,
  );
  reportOtherParts(source, report, now);
  const used = new Set(
    [...models.values()].flatMap(({ targets }) =>
      (targets as readonly { upstream: string }[]).map(({ upstream }) => upstream),
    ),
  );
  return {
    source: "litellm",
    sourceHashes: new Set(source.keys.map(({ token }) => String(token))),
    upstreams: new Map(
      [...upstreams.all]
        .filter(([id]) => used.has(id))
        .map(([id, upstream]) => [
          id,
          mapSecrets(upstream, (secret) => withValue(secret, source.environment)) as JsonObject,
        ]),
    ),
    models,
    projects,
    keys: master ? [...keys, master] : keys,
  };
}

/** A variable has its value in the file itself, or else in the environment. */
function withValue(secret: Secret, environment: JsonObject): Secret {
  const { variable = "" } = secret;
  const value = Object.hasOwn(environment, variable) ? environment[variable] : undefined;
  return value === undefined || value === null
    ? secret
    : Secret.ofVariable(variable, String(value));
}
