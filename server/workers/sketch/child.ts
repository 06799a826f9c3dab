/** The main file of the drawing program's process. */
import { draw, type SketchEvent, type SketchRequest } from "@vexel/sketch";
import { createJobQueue } from "../job-queue.ts";
import { serveParent } from "../process/serve-parent.ts";
import { sketchErrorToGatewayError } from "./error-mapping.ts";

/** The part `undefined` ends a response. */
serveParent<Record<string, never>, SketchRequest, SketchEvent | undefined>(
  async (_spec, responder) => {
    const running = new Map<number, AbortController>();
    const queue = createJobQueue({ maxRunning: 2, maxWaiting: 64, name: "The drawing program" });

    const respond = async (
      id: number,
      request: SketchRequest,
      signal: AbortSignal,
    ): Promise<void> => {
      const events = draw(request, signal);
      try {
        // A slot is taken for each event, so that requests for several images alternate with others.
        for (;;) {
          const { done, value } = await queue.run({ signal }, () => events.next());
          if (done === true) break;
          responder.send(id, value, false);
        }
      } finally {
        await events.return();
      }
      responder.send(id, undefined, true);
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
