/**
 * The drawing program in a process of its own: pixels are worked on there, so a large picture
 * holds up nobody else's call, and its memory is given back when nobody has drawn for a while.
 */
import type { Signal } from "../../../std/signal.ts";
import type {
  EditQuery,
  FilePart,
  GenerationQuery,
  ImageEvent,
  ImageReply,
  ImageResult,
  ImageSource,
} from "../../contract.ts";
import { Link } from "../process/link.ts";
import type { Facts } from "../process/protocol.ts";
import type { SentFile, SentSource, SketchAsk, SketchPart } from "./ask.ts";
import { channel } from "./channel.ts";
import type { Sketch } from "./sketch.ts";

export interface StudioOptions {
  /** How long the unused program stays in memory. */
  readonly idleMs: number;
  readonly onReady?: (name: string, facts: Facts) => void;
}

/** Of all uploads that are waiting. */
const maxWaitingBytes = 256 * 1024 * 1024;
const entry = Bun.fileURLToPath(new URL("./child.ts", import.meta.url));

export function createStudio({ idleMs, onReady }: StudioOptions): Sketch & {
  close(): Promise<void>;
} {
  const link = new Link<Record<string, never>, SketchAsk, SketchPart>({
    name: "The drawing program vexel-sketch",
    entry,
    spec: () => ({}),
    maxWeight: maxWaitingBytes,
    idleMs,
    ...(onReady && { onReady }),
  });

  const whole = async (asking: Asking): Promise<ImageReply> => {
    const results: ImageResult[] = [];
    let reply: ImageReply = { kind: "whole", results, facts: {} };
    const onPart = (part: SketchPart): void => {
      if (part.kind === "result") results.push(part.result);
      if (part.kind === "end") reply = { kind: "whole", results, ...part.rest };
    };
    await link.ask({ ...asking, onPart });
    return reply;
  };
  const streamed = (asking: Asking): ImageReply => {
    const { push, end, items } = channel<ImageEvent>();
    const onPart = (part: SketchPart): void => {
      if (part.kind === "event") push(part.event);
    };
    link.ask({ ...asking, onPart }).then(() => end(), end);
    return { kind: "stream", events: items };
  };
  const ask = async (asking: Asking, { stream }: GenerationQuery): Promise<ImageReply> =>
    stream ? streamed(asking) : whole(asking);

  return {
    close: () => link.close(),
    generations: (query, _target, signal) =>
      ask({ ask: { operation: "generations", query }, weight: query.prompt.length, signal }, query),
    edits: async (query, _target, signal) => {
      const sent = await packed(query);
      return ask(
        { ask: { operation: "edits", query: sent }, weight: weightOf(query), signal },
        query,
      );
    },
  };
}

interface Asking {
  readonly ask: SketchAsk;
  readonly weight: number;
  readonly signal: Signal;
}

async function packed({ images, mask, files, ...query }: EditQuery) {
  return {
    ...query,
    images: await Promise.all(images.map(packSource)),
    ...(mask && { mask: await packSource(mask) }),
    files: await Promise.all(files.map(packFile)),
  };
}

const packSource = async (source: ImageSource): Promise<SentSource> =>
  source.kind === "file" ? { kind: "file", file: await packFile(source.file) } : source;

/** A copy of its own: a view would carry all of the buffer it looks into. */
async function packFile(part: FilePart): Promise<SentFile> {
  const { field, filename, type, size } = part;
  return { field, filename, type, size, content: new Uint8Array(await part.bytes()) };
}

const weightOf = ({ images, mask, files, prompt }: EditQuery): number =>
  [...images, ...(mask ? [mask] : [])].reduce(
    (sum, source) => sum + (source.kind === "file" ? source.file.size : 0),
    files.reduce((sum, { size }) => sum + size, prompt.length),
  );
