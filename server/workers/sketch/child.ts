/** The main file of the drawing program's process. */
import { draw, type SketchEvent } from "#sketch";
import { createJobQueue } from "../job-queue.ts";
import { serveParent } from "../process/serve-parent.ts";
import { sketchErrorToGatewayError } from "./error-mapping.ts";
import type { SketchJob } from "./sketch-job.ts";

/** The part `undefined` ends a response. */
serveParent<Record<string, never>, SketchJob, SketchEvent | undefined>(async (_spec, responder) => {
  const running = new Map<number, AbortController>();
  const queue = createJobQueue({ maxRunning: 2, maxWaiting: 64, name: "The drawing program" });

  const respond = async (
    id: number,
    { request, key }: SketchJob,
    signal: AbortSignal,
  ): Promise<void> => {
    const events = draw(request, signal);
    try {
      // A slot is taken for each event, so that requests for several images alternate with others. Images are counted:
      // the end of the events would wait for a slot behind the images of other requests.
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
    handle: (id, job) => {
      const controller = new AbortController();
      running.set(id, controller);
      void respond(id, job, controller.signal)
        .catch((error: unknown) =>
          responder.fail(id, sketchErrorToGatewayError(error, controller.signal)),
        )
        .finally(() => running.delete(id));
    },
    cancel: (id) => running.get(id)?.abort(),
  };
});
