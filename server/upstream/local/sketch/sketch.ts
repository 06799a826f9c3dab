/** The built-in picture maker: a drawing program behind the image routes. One call's journey is read here. */

import { GatewayError } from "../../../std/gateway-error.ts";
import type { Signal } from "../../../std/signal.ts";
import type {
  EditQuery,
  Engine,
  GenerationQuery,
  ImageEvent,
  ImageFacts,
  ImageReply,
  ImageResult,
} from "../../contract.ts";
import { createTurns } from "../turns.ts";
import { stopIfAborted } from "./abort.ts";
import { darkroom, draw, earlier, type Picture, seedOf, stagesFor } from "./draw.ts";
import { develop, type EditJob } from "./edit/edit.ts";
import { gatherMaterials } from "./edit/materials.ts";
import { encode, isOpaque } from "./encode.ts";
import { animate } from "./gif.ts";
import { loadSharp } from "./load-sharp.ts";
import { autoSize, readOptions, type Size, type Wish } from "./options.ts";
import { type Darkroom, open, type Raster } from "./raster.ts";
import { outputTokens, textTokens, tiles, usageOf } from "./tokens.ts";
import { vector } from "./vector.ts";
import { describe } from "./words/describe.ts";
import { understand } from "./words/understand.ts";

const renders = createTurns({ maxRunning: 2, maxWaiting: 64, who: "The drawing program" });

/** One call, whichever route it came by. */
interface Order {
  readonly wish: Wish;
  readonly size: Size;
  readonly textTokens: number;
  readonly imageTokens: number;
  readonly told: string;
  /** Known before drawing only where nothing was uploaded. */
  readonly bare: boolean;
  /** Earlier stages are yielded, the finished pixels returned. */
  make(index: number, phase: number, partials: number): AsyncGenerator<Raster, Raster>;
  /** SVG source, where the order is for one. */
  readonly source?: () => string;
}

/** Both image routes, always there. */
export type Sketch = Required<Pick<Engine, "generations" | "edits">>;

export const sketch: Sketch = {
  generations: (query, _target, signal) =>
    guard(async () => reply(query, await orderDrawing(query, signal), signal)),
  edits: (query, _target, signal) =>
    guard(async () => reply(query, await orderEdit(query, signal), signal)),
};

/** When it was made is for the gateway to say: nothing here reads a clock. */
async function reply(query: GenerationQuery, order: Order, signal: Signal): Promise<ImageReply> {
  if (query.stream) return { kind: "stream", events: guarded(events(order, signal)) };
  const { wish, size } = order;
  const results: ImageResult[] = [];
  let clear = false;
  for (let index = 0; index < wish.n; index++) {
    const { bytes, opaque } = await renders.run({ signal }, () => finished(order, index, signal));
    clear ||= !opaque;
    results.push({ image: { kind: "bytes", bytes }, revised_prompt: order.told });
  }
  const frames = wish.format === "gif" ? wish.frames : 1;
  const spent = outputTokens(size, wish.quality, frames, 0) * wish.n;
  return {
    kind: "whole",
    results,
    facts: factsOf(order, !clear),
    usage: usageOf(order.textTokens, order.imageTokens, spent),
  };
}

async function orderDrawing(query: GenerationQuery, signal: Signal): Promise<Order> {
  const wish = readOptions(query);
  const brief = understand(query.prompt);
  const size = wish.size ?? autoSize(brief);
  const sharp = await loadSharp();
  const bare = wish.background === "transparent";
  const picture = (index: number): Picture => ({
    brief,
    ...size,
    seed: seedOf(query.prompt, wish, index),
    bare,
    wish,
  });
  return {
    wish,
    size,
    bare,
    textTokens: textTokens(query.prompt),
    imageTokens: 0,
    told: describe(brief),
    async *make(index, phase, partials) {
      const room = (): Darkroom => darkroom(sharp, picture(index).seed, wish, signal);
      for (const stage of stagesFor(partials)) yield earlier(room(), picture(index), stage);
      return draw(room(), picture(index), phase);
    },
    ...(wish.format === "svg" && { source: () => vector(picture(0)) }),
  };
}

async function orderEdit(query: EditQuery, signal: Signal): Promise<Order> {
  const wish = readOptions(query, query);
  const brief = understand(query.prompt);
  const sharp = await loadSharp();
  const materials = await renders.run({ signal }, () => gatherMaterials(sharp, query, wish));
  const job = (index: number): EditJob => ({
    brief,
    seed: seedOf(query.prompt, wish, index),
    index,
    wish,
    materials,
  });
  const uploads = [
    ...materials.images,
    ...(materials.mask ? [materials.mask] : []),
    ...(materials.markup ? [materials.markup] : []),
  ];
  return {
    wish,
    size: materials.size,
    bare: false,
    textTokens: textTokens(query.prompt),
    imageTokens: uploads.reduce((sum, upload) => sum + tiles(upload.size), 0),
    told: describe(brief, materials.mask === undefined ? "restyled" : "masked"),
    async *make(index, phase, partials) {
      const room = darkroom(sharp, job(index).seed, wish, signal);
      const done = yield* develop(room, job(index), phase, partials);
      return phase === 0 ? done : breathing(room, done, phase);
    },
  };
}

/** A picture that only had its style changed still moves a little in an animation. */
const breathing = async (room: Darkroom, raster: Raster, phase: number): Promise<Raster> => ({
  ...raster,
  pixels: await open(room.sharp, raster)
    .modulate({ brightness: 1 + 0.05 * Math.sin(phase * Math.PI * 2) })
    .raw()
    .toBuffer(),
});

async function lastOf(making: AsyncGenerator<Raster, Raster>): Promise<Raster> {
  for (;;) {
    const step = await making.next();
    if (step.done === true) return step.value;
  }
}

async function finished(
  order: Order,
  index: number,
  signal: Signal,
): Promise<{ bytes: Uint8Array; opaque: boolean }> {
  const { wish } = order;
  stopIfAborted(signal);
  if (order.source !== undefined)
    return { bytes: new TextEncoder().encode(order.source()), opaque: !order.bare };
  const sharp = await loadSharp();
  if (wish.format !== "gif") return developed(order, await lastOf(order.make(index, 0, 0)));
  const room = darkroom(sharp, `gif|${index}`, wish, signal);
  const clear = order.wish.background === "transparent";
  const bytes = await animate(
    room,
    wish.frames,
    wish.frameMs,
    (frame) => lastOf(order.make(index, frame / wish.frames, 0)),
    clear,
  );
  return { bytes, opaque: !clear };
}

async function developed(
  { wish }: Order,
  raster: Raster,
): Promise<{ bytes: Uint8Array; opaque: boolean }> {
  const opaque = wish.format === "jpeg" || isOpaque(raster);
  const format = wish.format === "jpeg" || wish.format === "webp" ? wish.format : "png";
  return {
    bytes: await encode(await loadSharp(), raster, format, wish.compression, opaque),
    opaque,
  };
}

const factsOf = ({ wish, size }: Order, opaque: boolean): ImageFacts => ({
  size: `${size.width}x${size.height}`,
  quality: wish.quality,
  background: opaque ? "opaque" : "transparent",
  output_format: wish.format,
});

/** One picture after the other. A slot is held while drawing, never while the caller reads. */
async function* events(order: Order, signal: Signal): AsyncGenerator<ImageEvent, void> {
  const { wish, size } = order;
  for (let index = 0; index < wish.n; index++) {
    const making = order.make(index, 0, wish.partials);
    try {
      for (let partial = 0; ; ) {
        stopIfAborted(signal);
        const { done, bytes, opaque } = await renders.run({ signal }, async () => {
          const step = await making.next();
          const wanted = step.done === true || partial < wish.partials;
          return {
            done: step.done === true,
            ...(wanted ? await developed(order, step.value) : { bytes: undefined, opaque: true }),
          };
        });
        if (bytes === undefined) continue;
        const image = { kind: "bytes", bytes } as const;
        const facts = factsOf(order, opaque);
        if (!done) {
          yield { type: "partial", image, index: partial, ...facts };
          partial += 1;
          continue;
        }
        // The prompt and the uploads are read once: the first picture carries them, so the sum is the call's.
        const [text, images] = index === 0 ? [order.textTokens, order.imageTokens] : [0, 0];
        yield {
          type: "completed",
          image,
          ...facts,
          usage: usageOf(text, images, outputTokens(size, wish.quality, 1, partial)),
        };
        break;
      }
    } finally {
      await making.return(undefined as never);
    }
  }
}

const foreign = (cause: unknown): GatewayError =>
  cause instanceof GatewayError
    ? cause
    : new GatewayError("internal", "The drawing program failed.", { cause });

/** Whatever the image library throws leaves here as one of ours. */
async function guard<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw foreign(cause);
  }
}

async function* guarded(
  events: AsyncGenerator<ImageEvent, void>,
): AsyncGenerator<ImageEvent, void> {
  try {
    yield* events;
  } catch (cause) {
    throw foreign(cause);
  }
}
