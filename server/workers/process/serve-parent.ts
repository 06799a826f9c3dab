/** The child's side of the IPC protocol: handles the gateway's messages, and exits with the gateway. */
import { setPriority } from "node:os";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { SerializedError, ToChild, ToParent, WorkerMetadata } from "./protocol.ts";

export interface LoadedWorker<Ask> {
  readonly facts: WorkerMetadata;
  handle(id: number, ask: Ask): void;
  cancel(id: number): void;
}

export interface Responder<Part> {
  send(id: number, part: Part, last: boolean): void;
  fail(id: number, error: unknown): void;
}

/** Slightly lower priority than the gateway, so that a busy model does not slow other requests. */
function lowerPriority(): void {
  try {
    setPriority(2);
  } catch {
    // Some sandboxes forbid it, and the process works without it.
  }
}

export function serveParent<Spec, Ask, Part>(
  load: (spec: Spec, voice: Responder<Part>) => Promise<LoadedWorker<Ask>>,
): void {
  const say = (message: ToParent<Part>) => {
    if (process.connected) process.send?.(message);
  };
  const voice: Responder<Part> = {
    send: (id, part, last) => say({ type: "part", id, part, last }),
    fail: (id, error) => say({ type: "refused", id, ...serializeError(error) }),
  };
  const early = new Map<number, Ask>();
  let loaded: LoadedWorker<Ask> | undefined;

  // The channel closes when the gateway ends for any reason; SIGKILL leaves no other signal.
  process.on("disconnect", () => process.exit(0));
  // Ctrl-C and systemd signal the whole process group: the gateway may still need this process for its last requests.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
  lowerPriority();

  process.on("message", (message: ToChild<Spec, Ask>) => {
    if (message.type === "load") {
      load(message.spec, voice).then(
        (model) => {
          loaded = model;
          say({ type: "ready", facts: model.facts });
          for (const [id, ask] of early) model.handle(id, ask);
          early.clear();
        },
        (error: unknown) => say({ type: "failed", ...serializeError(error) }),
      );
    } else if (message.type === "cancel") {
      early.delete(message.id);
      loaded?.cancel(message.id);
    } else if (loaded) {
      loaded.handle(message.id, message.ask);
    } else {
      early.set(message.id, message.ask);
    }
  });
}

function serializeError(error: unknown): SerializedError {
  if (error instanceof GatewayError) {
    const { param } = error.details;
    return { fault: error.fault, message: error.message, ...(param !== undefined && { param }) };
  }
  const words = error instanceof Error ? error.message : String(error);
  return { fault: "upstream_error", message: `The model failed: ${words}` };
}
