/**
 * The main file of an image worker's child process: one image at a time. A task is canceled by ending the process. If
 * memory runs out, the OOM killer should end this process and not the gateway.
 */
import { writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { errorCode } from "../../../lib/error-code.ts";
import { GatewayError } from "../../../lib/gateway-error.ts";
import { serveParent } from "../../process/serve-parent.ts";
import type {
  ImageWorkerRequest,
  ImageWorkerResponsePart,
  ImageWorkerSpec,
  SentImage,
} from "../messages.ts";
import { convertImage } from "./convert-image.ts";
import { convertMask } from "./convert-mask.ts";
import { UnprocessableImageError, withImageInput } from "./image-input.ts";
import { inspect } from "./inspect.ts";
import { type Library, openImage, restrictLoaders, toUnprocessable } from "./open-image.ts";
import { hasManifest } from "./provenance.ts";

const chunkBytes = 256 * 1024;
/** Results up to this size are sent in messages, larger ones through a file. */
const maxInlineBytes = 128 * 1024;

const largeBytes = 4 * 1024 * 1024;
const sizeOf = (image: SentImage): number =>
  image.kind === "bytes" ? image.bytes.length : image.range.length;

/** When memory runs out, the OOM killer must end this process and not the gateway. */
function preferOomKill(): void {
  if (process.platform !== "linux") return;
  try {
    writeFileSync("/proc/self/oom_score_adj", "1000");
  } catch {
    // Some sandboxes forbid it. Then the OOM killer chooses by size, which is usually this process.
  }
}

serveParent<ImageWorkerSpec, ImageWorkerRequest, ImageWorkerResponsePart>(
  async (spec, responder) => {
    preferOomKill();
    const sharp = restrictLoaders(await loadSharp());

    const deliver = async (id: number, result: Buffer, into: string | undefined): Promise<void> => {
      if (into !== undefined && result.length > maxInlineBytes) {
        await writeFile(into, result, { flag: "r+" }).catch((cause: unknown) => {
          const isInaccessible = ["EACCES", "EPERM", "ENOENT"].includes(errorCode(cause));
          const reason = isInaccessible ? "unreachable" : "unwritable";
          throw new UnprocessableImageError(reason, "could not be written to disk", cause);
        });
        responder.send(id, { kind: "written" }, true);
        return;
      }
      for (let from = 0; from < result.length; from += chunkBytes) {
        // Copied: serializing a view would send its whole buffer.
        const bytes = new Uint8Array(result.subarray(from, from + chunkBytes));
        responder.send(id, { kind: "bytes", bytes }, from + chunkBytes >= result.length);
      }
    };

    const work = (id: number, { image, task, into }: ImageWorkerRequest): Promise<void> =>
      withImageInput(image, async (input) => {
        const openedImage = await openImage(sharp, input, spec);
        const pixels = openedImage.width * openedImage.height * openedImage.pages;
        responder.send(id, { kind: "opened", pixels }, false);
        if (task.kind === "inspect") {
          responder.send(id, { kind: "inspected", inspection: await inspect(openedImage) }, true);
          return;
        }
        if (task.kind === "convert" && hasManifest(input, openedImage.type)) {
          responder.send(id, { kind: "manifest-lost" }, false);
        }
        const result =
          task.kind === "convert"
            ? await convertImage(openedImage, task.to)
            : await convertMask(sharp, openedImage, task.to);
        await deliver(id, result, into);
      });

    return {
      metadata: { library: `libvips ${sharp.versions.vips}` },
      handle: (id, request) => {
        work(id, request)
          .catch((error: unknown) => {
            const { reason, message } = toUnprocessable(error, spec.maxPixels);
            responder.send(id, { kind: "failed", reason, problem: message }, true);
          })
          .finally(() => {
            // Without an explicit collection, the bytes of several images would stay in memory.
            if (sizeOf(request.image) > largeBytes) Bun.gc(true);
          });
      },
    };
  },
);

/** Loads sharp, the image library, in this process. */
async function loadSharp(): Promise<Library> {
  try {
    const { default: sharp } = await import("sharp");
    sharp.cache(false);
    // The gateway starts several of these processes; one thread in each leaves the other cores to the gateway.
    sharp.concurrency(1);
    return sharp;
  } catch (cause) {
    throw new GatewayError("internal", "The image library could not be loaded.", { cause });
  }
}
