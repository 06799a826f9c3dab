/**
 * The drawing program in a process of its own: it computes pixels there, so that a large image does not block the event
 * loop of the gateway, and its memory is released when the process ends after a time without requests.
 */
import { join } from "node:path";
import type { CompletedImage, ImageInput, SketchEvent, SketchRequest, Usage } from "#sketch";
import { sourceFolder } from "../../lib/executable.ts";
import type {
  BufferedImageResponse,
  BuiltInModel,
  EditQuery,
  FilePart,
  GenerationQuery,
  ImageEvent,
  ImageResponse,
  ImageSource,
  StreamedImage,
} from "../../upstream/contract.ts";
import { editSources } from "../../upstream/edit-sources.ts";
import type { WorkerMetadata } from "../process/protocol.ts";
import { WorkerProcess } from "../process/worker-process.ts";
import type { SketchTask } from "./sketch-task.ts";

interface SketchWorkerOptions {
  /** Called each time the process has started, with the id of the model. */
  readonly onReady?: (model: string, metadata: WorkerMetadata) => void;
}

type SketchWorker = Required<Pick<BuiltInModel, "generations" | "edits" | "close">>;

/** The maximum size of all waiting prompts and uploads together, in bytes. */
const maxWaitingBytes = 256 * 1024 * 1024;
const modelId = "vexel-sketch";
const entry = join(sourceFolder, "server/workers/sketch/child.ts");

export function createSketchWorker({ onReady }: SketchWorkerOptions = {}): SketchWorker {
  const worker = new WorkerProcess<Record<string, never>, SketchTask, SketchEvent | undefined>({
    name: `The drawing program ${modelId}`,
    entry,
    spec: () => ({}),
    maxWeight: maxWaitingBytes,
    ...(onReady && { onReady: (metadata) => onReady(modelId, metadata) }),
  });

  const sendBuffered = async (outgoing: OutgoingRequest): Promise<ImageResponse> => {
    const images: CompletedImage[] = [];
    const onPart = (event: SketchEvent | undefined): void => {
      if (event?.type === "completed") images.push(event);
    };
    await worker.send({ ...outgoing, onPart });
    return bufferedResponse(images);
  };
  const sendStreamed = (outgoing: OutgoingRequest): ImageResponse => {
    const { push, end, items } = channel<ImageEvent>();
    const onPart = (event: SketchEvent | undefined): void => {
      if (event) push(frameOf(event));
    };
    worker.send({ ...outgoing, onPart }).then(() => end(), end);
    return { kind: "stream", events: items };
  };
  const send = async (outgoing: OutgoingRequest): Promise<ImageResponse> =>
    outgoing.request.request.stream === true ? sendStreamed(outgoing) : sendBuffered(outgoing);

  return {
    close: () => worker.close(),
    generations: (query, _target, signal, key = "") => {
      const task = { request: generationRequest(query), key };
      return send({ request: task, weight: query.prompt.length, signal });
    },
    edits: async (query, _target, signal, key = "") => {
      const weight = query.prompt.length + uploadBytes(query);
      return send({ request: { request: await editRequest(query), key }, weight, signal });
    },
  };
}

interface OutgoingRequest {
  readonly request: SketchTask;
  readonly weight: number;
  readonly signal: AbortSignal;
}

/** The query as a request of the drawing program. */
const generationRequest = ({
  prompt,
  options,
  stream,
  extraFields,
}: GenerationQuery): SketchRequest => ({
  prompt,
  stream,
  options: { ...options, seed: extraFields.seed },
});

async function editRequest(query: EditQuery): Promise<SketchRequest> {
  const { images, mask, markup } = query;
  return {
    ...generationRequest(query),
    edit: {
      images: await Promise.all(images.map(inputOf)),
      ...(mask && { mask: await inputOf(mask) }),
      ...(markup && { markup: await inputOf(markup) }),
    },
  };
}

const inputOf = async (source: ImageSource): Promise<ImageInput> =>
  source.kind === "file" ? { kind: "bytes", bytes: await contentOf(source.file) } : source;

/** Copies the content: a view would send all of the buffer that it is a part of. */
const contentOf = async (file: FilePart): Promise<Uint8Array> => new Uint8Array(await file.bytes());

/** The size of the uploads of a request in bytes, before they are read. */
const uploadBytes = (query: EditQuery): number =>
  editSources(query).reduce(
    (sum, source) => sum + (source.kind === "file" ? source.file.size : 0),
    0,
  );

function frameOf(event: SketchEvent): StreamedImage {
  const { bytes, ...metadata } = event;
  const image = { kind: "bytes", bytes } as const;
  if (metadata.type === "partial") return { ...metadata, image };
  const { revised_prompt: _, ...frame } = metadata;
  return { ...frame, image };
}

/** The buffered response. The drawing program reports metadata and usage per image. */
function bufferedResponse(images: readonly CompletedImage[]): BufferedImageResponse {
  const [first] = images;
  if (first === undefined) return { kind: "buffered", results: [], metadata: {} };
  const { size, quality, output_format } = first;
  const opaque = images.every(({ background }) => background === "opaque");
  return {
    kind: "buffered",
    results: images.map(({ bytes, revised_prompt }) => ({
      image: { kind: "bytes", bytes },
      revised_prompt,
    })),
    metadata: { size, quality, background: opaque ? "opaque" : "transparent", output_format },
    usage: images.map(({ usage }) => usage).reduce(addUsage),
  };
}

const addUsage = (a: Usage, b: Usage): Usage => ({
  total_tokens: a.total_tokens + b.total_tokens,
  input_tokens: a.input_tokens + b.input_tokens,
  output_tokens: a.output_tokens + b.output_tokens,
  input_tokens_details: addDetails(a.input_tokens_details, b.input_tokens_details),
  output_tokens_details: addDetails(a.output_tokens_details, b.output_tokens_details),
});

type Details = Usage["input_tokens_details"];
const addDetails = (a: Details, b: Details): Details => ({
  text_tokens: a.text_tokens + b.text_tokens,
  image_tokens: a.image_tokens + b.image_tokens,
});

/**
 * An async queue: a producer pushes items in callbacks, and a consumer iterates them until the end or an error. If the
 * producer gives a reason for the end, the iteration throws that reason after the items that were pushed before.
 */
function channel<T>() {
  const waiting: T[] = [];
  let ended: { readonly reason: unknown } | undefined;
  let wake = Promise.withResolvers<void>();
  const wakeReader = (): void => {
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };
  async function* read(): AsyncGenerator<T> {
    for (;;) {
      while (waiting.length > 0) yield waiting.shift() as T;
      if (ended) break;
      await wake.promise;
    }
    if (ended.reason !== undefined) throw ended.reason;
  }
  return {
    push: (item: T): void => {
      waiting.push(item);
      wakeReader();
    },
    end: (reason?: unknown): void => {
      ended ??= { reason };
      wakeReader();
    },
    items: read(),
  };
}
