/** The main file of the drawing program's process. */
import { draw } from "@vexel/sketch";
import { createTurns } from "../job-queue.ts";
import { serveParent } from "../process/serve-parent.ts";
import { sketchErrorToGatewayError } from "./error-mapping.ts";
import type { SketchAsk, SketchPart } from "./messages.ts";

serveParent<Record<string, never>, SketchAsk, SketchPart>(async (_spec, voice) => {
  const running = new Map<number, AbortController>();
  const queue = createTurns({ maxRunning: 2, maxWaiting: 64, who: "The drawing program" });

  const answer = async (id: number, request: SketchAsk, signal: AbortSignal): Promise<void> => {
    const events = draw(request, signal);
    try {
      // A slot is taken for each event, so that requests for several images alternate with others.
      for (;;) {
        const { done, value } = await queue.run({ signal }, () => events.next());
        if (done === true) break;
        voice.part(id, { kind: "event", event: value }, false);
      }
    } finally {
      await events.return();
    }
    voice.part(id, { kind: "end" }, true);
  };

  return {
    facts: {},
    ask: (id, request) => {
      const controller = new AbortController();
      running.set(id, controller);
      void answer(id, request, controller.signal)
        .catch((error: unknown) =>
          voice.refuse(id, sketchErrorToGatewayError(error, controller.signal)),
        )
        .finally(() => running.delete(id));
    },
    cancel: (id) => running.get(id)?.abort(),
  };
});
