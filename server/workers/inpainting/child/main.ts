/** The main file of the inpainting model's child process: one image at a time. */
import { loadOnnxruntime, sessionOptions } from "../../embedding/child/onnxruntime.ts";
import { readChecked } from "../../embedding/child/read-checked.ts";
import { serveParent } from "../../process/serve-parent.ts";
import type { InpaintRequest, InpaintResponsePart, InpaintSpec } from "../messages.ts";
import { inpaint, readInpaintImage } from "./inpaint.ts";

// MI-GAN-512 Places2, the authors' own ONNX pipeline v2, MIT (LICENSE-WEIGHTS of Picsart-AI-Research/MI-GAN). A third
// party publishes the package, so the checksum is verified.
const modelSha256 = "6f1f3530a1a2324b19752018ce756088b07973cda8d7d890034ace5c8a48c40b";
const chunkBytes = 256 * 1024;

serveParent<InpaintSpec, InpaintRequest, InpaintResponsePart>(async (spec, responder) => {
  const onnxruntime = loadOnnxruntime(spec.onnxruntime);
  const session = await onnxruntime.InferenceSession.create(
    await readChecked(spec.path, modelSha256),
    sessionOptions,
  );
  const waiting = new Map<number, InpaintRequest>();
  let working = false;

  const respond = async (id: number, request: InpaintRequest) => {
    const image = await readInpaintImage(request);
    const bytes = await inpaint(image, request, { onnxruntime, session });
    const size = `${image.width}x${image.height}`;
    for (let from = 0; from < bytes.length; from += chunkBytes) {
      const last = from + chunkBytes >= bytes.length;
      responder.send(
        id,
        { bytes: new Uint8Array(bytes.subarray(from, from + chunkBytes)), size },
        last,
      );
    }
  };
  const work = async () => {
    working = true;
    for (const [id, request] of waiting) {
      waiting.delete(id);
      await respond(id, request).catch((error: unknown) => responder.fail(id, error));
      // Yields to the event loop, which a run blocks, so that cancellations arrive.
      await new Promise((resume) => setImmediate(resume));
    }
    working = false;
  };
  return {
    metadata: { runtime: "native" },
    handle: (id, request) => {
      waiting.set(id, request);
      if (!working) void work();
    },
    cancel: (id) => waiting.delete(id),
  };
});
