/** The main file of the drawing program's child process. */
import type { Signal } from "../../../std/signal.ts";
import type { FilePart, ImageReply, ImageSource } from "../../contract.ts";
import { serveParent } from "../process/serve-parent.ts";
import type { SentFile, SentSource, SketchAsk, SketchPart } from "./ask.ts";
import { sketch } from "./sketch.ts";

const target = { upstream: { id: "", kind: "sketch", headers: {}, options: {} }, model: "" };

function received({ content, ...file }: SentFile): FilePart {
  return {
    ...file,
    stream: () => new Blob([content as Uint8Array<ArrayBuffer>]).stream(),
    bytes: async () => content,
  };
}

const opened = (source: SentSource): ImageSource =>
  source.kind === "file" ? { kind: "file", file: received(source.file) } : source;

function start(ask: SketchAsk, signal: Signal): Promise<ImageReply> {
  if (ask.operation === "generations") return sketch.generations(ask.query, target, signal);
  const { images, mask, files, ...query } = ask.query;
  return sketch.edits(
    {
      ...query,
      images: images.map(opened),
      ...(mask && { mask: opened(mask) }),
      files: files.map(received),
    },
    target,
    signal,
  );
}

serveParent<Record<string, never>, SketchAsk, SketchPart>(async (_spec, voice) => {
  const working = new Map<number, AbortController>();

  const answer = async (id: number, ask: SketchAsk, signal: Signal): Promise<void> => {
    const reply = await start(ask, signal);
    if (reply.kind === "stream") {
      for await (const event of reply.events) voice.part(id, { kind: "event", event }, false);
      voice.part(id, { kind: "end", rest: { facts: {} } }, true);
      return;
    }
    const { kind, results, ...rest } = reply;
    for (const result of results) voice.part(id, { kind: "result", result }, false);
    voice.part(id, { kind: "end", rest }, true);
  };

  return {
    facts: {},
    ask: (id, ask) => {
      const controller = new AbortController();
      working.set(id, controller);
      void answer(id, ask, controller.signal)
        .catch((error: unknown) => voice.refuse(id, error))
        .finally(() => working.delete(id));
    },
    cancel: (id) => working.get(id)?.abort(),
  };
});
