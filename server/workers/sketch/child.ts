/** The main file of the drawing program's process. */
import { draw, type SketchEvent } from "#sketch";
import { serveParent } from "../process/serve-parent.ts";
import { createTaskQueue } from "../task-queue.ts";
import { sketchErrorToGatewayError } from "./error-mapping.ts";
import type { SketchTask } from "./sketch-task.ts";

/** The part `undefined` ends a response. */
serveParent<Record<string, never>, SketchTask, SketchEvent | undefined>(
  async (_spec, responder) => {
    const running = new Map<number, AbortController>();
    const queue = createTaskQueue({ maxRunning: 2, maxWaiting: 64, name: "The drawing program" });

    const respond = async (
      id: number,
      { request, key }: SketchTask,
      signal: AbortSignal,
    ): Promise<void> => {
      const events = draw(request, signal);
      try {
        // A slot is taken for each event, so that requests for several images alternate with others. Images are
        // counted: the end of the events would wait for a slot behind the images of other requests.
        for (let left = request.options?.n ?? 1; left > 0; ) {
          const { done, value } = await queue.run({ signal, key }, () => events.next());
          if (done === true) break;
          responder.send(id, value, false);
          if (value.type === "completed") left -= 1;
        }
      } finally {
        await events.return();
      }
      responder.send(id, undefined, true);
    };

    return {
      metadata: {},
      handle: (id, task) => {
        const controller = new AbortController();
        running.set(id, controller);
        void respond(id, task, controller.signal)
          .catch((error: unknown) =>
            responder.fail(id, sketchErrorToGatewayError(error, controller.signal)),
          )
          .finally(() => running.delete(id));
      },
      cancel: (id) => running.get(id)?.abort(),
    };
  },
);
