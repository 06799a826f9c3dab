/** The main file of an embedding model's child process. onnxruntime 1.17 blocks its event loop and aborts in threads. */

import { serveParent } from "../../process/serve-parent.ts";
import type { EmbedAsk, EmbedPart, EmbedSpec } from "../ask.ts";
import { loadDirectory } from "./load-directory.ts";
import { loadMinilm } from "./load-minilm.ts";
import { Schedule } from "./schedule.ts";

serveParent<EmbedSpec, EmbedAsk, EmbedPart>(async ({ model: wanted, ...spec }, voice) => {
  const model = await (wanted.kind === "minilm"
    ? loadMinilm(wanted, spec)
    : loadDirectory(wanted, spec));
  // What loading left behind is several times what stays.
  Bun.gc(true);
  const schedule = new Schedule(model, voice);
  const { runtime, because, dimensions, maxTokens } = model;
  return {
    facts: { runtime, dimensions, maxTokens, ...(because !== undefined && { because }) },
    ask: (id, ask) => schedule.add(id, ask),
    cancel: (id) => schedule.cancel(id),
  };
});
