/** The main file of the drawing program's process. */
import { draw } from "@vexel/sketch";
import { createJobQueue } from "../job-queue.ts";
import { serveParent } from "../process/serve-parent.ts";
import { sketchErrorToGatewayError } from "./error-mapping.ts";
import type { SketchResponsePart, SketchWorkerRequest } from "./messages.ts";

serveParent<Record<string, never>, SketchWorkerRequest, SketchResponsePart>(
  async (_spec, responder) => {
    const running = new Map<number, AbortController>();
    const queue = createJobQueue({ maxRunning: 2, maxWaiting: 64, name: "The drawing program" });

    const respond = async (
      id: number,
      request: SketchWorkerRequest,
      signal: AbortSignal,
    ): Promise<void> => {
      const events = draw(request, signal);
      try {
        // A slot is taken for each event, so that requests for several images alternate with others.
        for (;;) {
          const { done, value } = await queue.run({ signal }, () => events.next());
          if (done === true) break;
          responder.send(id, { kind: "event", event: value }, false);
        }
      } finally {
        await events.return();
      }
      responder.send(id, { kind: "end" }, true);
    };

    return {
      metadata: {},
      handle: (id, request) => {
        const controller = new AbortController();
        running.set(id, controller);
        void respond(id, request, controller.signal)
          .catch((error: unknown) =>
            responder.fail(id, sketchErrorToGatewayError(error, controller.signal)),
          )
          .finally(() => running.delete(id));
      },
      cancel: (id) => running.get(id)?.abort(),
    };
  },
);
