/**
 * The main file of an embedding model's child process. It is a process, because onnxruntime 1.17 blocks the event loop
 * and aborts in worker threads.
 */

import { serveParent } from "../../process/serve-parent.ts";
import type { EmbedRequest, EmbedResponsePart, EmbedSpec } from "../messages.ts";
import { BatchScheduler } from "./batch-scheduler.ts";
import { loadDirectory } from "./load-directory.ts";
import { loadMinilm } from "./load-minilm.ts";

serveParent<EmbedSpec, EmbedRequest, EmbedResponsePart>(
  async ({ model: modelSpec, ...spec }, responder) => {
    const model = await (modelSpec.kind === "minilm"
      ? loadMinilm(modelSpec, spec)
      : loadDirectory(modelSpec, spec));
    // Loading allocates several times the memory of the loaded model.
    Bun.gc(true);
    const schedule = new BatchScheduler(model, responder);
    const { runtime, fallbackReason, dimensions, maxTokens } = model;
    return {
      metadata: {
        runtime,
        dimensions,
        maxTokens,
        ...(fallbackReason !== undefined && { fallbackReason }),
      },
      handle: (id, request) => schedule.add(id, request),
      cancel: (id) => schedule.cancel(id),
    };
  },
);
