/**
 * The drawing program in a process of its own: it computes pixels there, so that a large image does not block the event
 * loop of the gateway, and its memory is freed when the process ends after a time without requests.
 */
import { join } from "node:path";
import type { CompletedImage } from "@vexel/sketch";
import { sourceFolder } from "../../lib/executable.ts";
import type { BuiltInModel, ImageEvent, ImageResponse } from "../../upstream/contract.ts";
import type { WorkerMetadata } from "../process/protocol.ts";
import { WorkerProcess } from "../process/worker-process.ts";
import { channel } from "./channel.ts";
import type { SketchResponsePart, SketchWorkerRequest } from "./messages.ts";
import {
  bufferedResponse,
  editRequest,
  frameOf,
  generationRequest,
  uploadBytes,
} from "./translate.ts";

export interface SketchWorkerOptions {
  /** How long the process stays without requests. */
  readonly idleMs: number;
  readonly onReady?: (name: string, metadata: WorkerMetadata) => void;
}

export type SketchWorker = Required<Pick<BuiltInModel, "generations" | "edits" | "close">>;

/** The maximum of all prompts and uploads that wait, in bytes. */
const maxWaitingBytes = 256 * 1024 * 1024;
const entry = join(sourceFolder, "server/workers/sketch/child.ts");

export function createSketchWorker({ idleMs, onReady }: SketchWorkerOptions): SketchWorker {
  const worker = new WorkerProcess<Record<string, never>, SketchWorkerRequest, SketchResponsePart>({
    name: "The drawing program vexel-sketch",
    entry,
    spec: () => ({}),
    maxWeight: maxWaitingBytes,
    idleMs,
    ...(onReady && { onReady }),
  });

  const whole = async (outgoing: OutgoingRequest): Promise<ImageResponse> => {
    const images: CompletedImage[] = [];
    const onPart = (part: SketchResponsePart): void => {
      if (part.kind === "event" && part.event.type === "completed") images.push(part.event);
    };
    await worker.send({ ...outgoing, onPart });
    return bufferedResponse(images);
  };
  const streamed = (outgoing: OutgoingRequest): ImageResponse => {
    const { push, end, items } = channel<ImageEvent>();
    const onPart = (part: SketchResponsePart): void => {
      if (part.kind === "event") push(frameOf(part.event));
    };
    worker.send({ ...outgoing, onPart }).then(() => end(), end);
    return { kind: "stream", events: items };
  };
  const send = async (
    request: SketchWorkerRequest,
    weight: number,
    signal: AbortSignal,
  ): Promise<ImageResponse> =>
    request.stream === true
      ? streamed({ request, weight, signal })
      : whole({ request, weight, signal });

  return {
    close: () => worker.close(),
    generations: (query, _target, signal) =>
      send(generationRequest(query), query.prompt.length, signal),
    edits: async (query, _target, signal) =>
      send(await editRequest(query), query.prompt.length + uploadBytes(query), signal),
  };
}

interface OutgoingRequest {
  readonly request: SketchWorkerRequest;
  readonly weight: number;
  readonly signal: AbortSignal;
}
