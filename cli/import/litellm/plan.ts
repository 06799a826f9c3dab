/** The plan of an import from LiteLLM. */
import { type ImportPlan, type Secret, Upstreams } from "../plan.ts";
import type { Report } from "../report.ts";
import { planKeys, planMasterKey, reportOtherParts } from "./plan-keys.ts";
import { planModels } from "./plan-models.ts";
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
  const master = planMasterKey(source.masterKey, resolve, report, now);
  reportOtherParts(source, report);
  const used = new Set(
    [...models.values()].flatMap(({ targets }) =>
      (targets as readonly { upstream: string }[]).map(({ upstream }) => upstream),
    ),
  );
  return {
    upstreams: new Map([...upstreams.all].filter(([id]) => used.has(id))),
    models,
    projects,
    keys: master ? [...keys, master] : keys,
  };
}
