/** The child's side of the IPC protocol: handles the gateway's messages, and exits with the gateway. */
import { setPriority } from "node:os";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { SerializedError, ToChild, ToParent, WorkerMetadata } from "./protocol.ts";

interface LoadedWorker<TaskRequest> {
  readonly metadata: WorkerMetadata;
  handle(id: number, request: TaskRequest): void;
  /** If absent, a request that was started runs to its end. */
  cancel?(id: number): void;
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

export function serveParent<Spec, TaskRequest, Part>(
  load: (spec: Spec, responder: Responder<Part>) => Promise<LoadedWorker<TaskRequest>>,
): void {
  const post = (message: ToParent<Part>) => {
    if (process.connected) process.send?.(message);
  };
  const responder: Responder<Part> = {
    send: (id, part, last) => post({ type: "part", id, part, last }),
    fail: (id, error) => post({ type: "refused", id, ...serializeError(error) }),
  };
  const queuedBeforeLoad = new Map<number, TaskRequest>();
  let loaded: LoadedWorker<TaskRequest> | undefined;

  // The channel closes when the gateway ends for any reason; SIGKILL leaves no other signal.
  process.on("disconnect", () => process.exit(0));
  // Ctrl-C and systemd signal the whole process group: the gateway may still need this process for its last requests.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
  lowerPriority();

  process.on("message", (message: ToChild<Spec, TaskRequest>) => {
    if (message.type === "load") {
      load(message.spec, responder).then(
        (model) => {
          loaded = model;
          post({ type: "ready", metadata: model.metadata });
          for (const [id, request] of queuedBeforeLoad) model.handle(id, request);
          queuedBeforeLoad.clear();
        },
        (error: unknown) => post({ type: "failed", ...serializeError(error) }),
      );
    } else if (message.type === "cancel") {
      queuedBeforeLoad.delete(message.id);
      loaded?.cancel?.(message.id);
    } else if (loaded) {
      loaded.handle(message.id, message.request);
    } else {
      queuedBeforeLoad.set(message.id, message.request);
    }
  });
}

function serializeError(error: unknown): SerializedError {
  if (error instanceof GatewayError) {
    const { param } = error.details;
    return { error: error.kind, message: error.message, ...(param !== undefined && { param }) };
  }
  const reason = error instanceof Error ? error.message : String(error);
  return { error: "upstream_error", message: `The model failed: ${reason}` };
}
