/** The process that spans and metrics come from. */
import type { InstrumentationScope } from "@opentelemetry/core";
import {
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from "@opentelemetry/resources";

/** What all spans and metrics of this process have in common. */
export interface TelemetryOrigin {
  readonly resource: Resource;
  readonly instrumentationScope: InstrumentationScope;
}

/** `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` replace attributes. */
export const telemetryOrigin = (version: string, replica: string): TelemetryOrigin => ({
  resource: resourceFromAttributes({
    "service.name": "vexel",
    "service.version": version,
    "service.instance.id": replica,
  }).merge(detectResources({ detectors: [envDetector] })),
  instrumentationScope: { name: "vexel", version },
});
