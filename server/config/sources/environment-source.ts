/**
 * The environment as a source of the configuration. It is read once: variables do not change while the process runs.
 */
import { type FromEnvironment, fromEnvironment } from "../environment.ts";
import type { Environment } from "../parse-yaml.ts";
import type { ConfigSource } from "./config-source.ts";

/** `now`: Unix milliseconds. */
export const environmentSource = (
  env: Environment,
  now: () => number,
): ConfigSource<FromEnvironment> => ({
  load: async () => fromEnvironment(env, now()),
  watch: () => () => undefined,
});
