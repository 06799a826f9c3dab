/** Opens traces as the settings say. The packages of OpenTelemetry are loaded only if a collector is configured. */
import { version } from "../../package.json";
import type { Log } from "../lib/log.ts";
import type { Tracing } from "../observe/traces/open-tracing.ts";
import type { Settings } from "../settings.ts";

export interface TracingWiringOptions {
  readonly settings: Settings;
  readonly log: Log;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly random: () => number;
}

/** Undefined: tracing is off. */
export async function wireTracing(options: TracingWiringOptions): Promise<Tracing | undefined> {
  const { settings, log, clock, random } = options;
  if (settings.OTEL_EXPORTER_OTLP_ENDPOINT === "") return undefined;
  const { openTracing } = await import("../observe/traces/open-tracing.ts");
  return openTracing({
    endpoint: settings.OTEL_EXPORTER_OTLP_ENDPOINT,
    protocol: settings.OTEL_EXPORTER_OTLP_PROTOCOL,
    sampling: samplingOf(settings),
    version,
    log,
    clock,
    random,
  });
}

function samplingOf(settings: Settings) {
  const { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: share } = settings;
  const isRatio = name.endsWith("traceidratio");
  return {
    isParentBased: name.startsWith("parentbased_"),
    ratio: isRatio ? share : Number(name.endsWith("always_on")),
  };
}
