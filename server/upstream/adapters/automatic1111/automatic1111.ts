/** AUTOMATIC1111's Stable Diffusion web UI, started with --api, and its forks, such as Forge. */

import type { Vendor } from "../../adapter.ts";
import type { ImageCapabilities } from "../../image-capabilities.ts";
import { messageIn } from "../wire/error-body.ts";
import { memberOf } from "../wire/members.ts";
import { nativeErrorReader } from "../wire/native-errors.ts";
import {
  automatic1111BaseUrl,
  automatic1111Edits,
  automatic1111Endpoint,
  automatic1111Generations,
} from "./images.ts";

// modules/ui.py: edges from 64 to 2048 in steps of 8, the size of a latent pixel. create_binary_mask in
// modules/processing.py: white mask pixels are edited.
const imageCapabilities: ImageCapabilities = {
  maxImages: 10,
  takes: { partial_images: "any" },
  sizes: { rule: { multipleOf: 8, minEdge: 64, maxEdge: 2048 } },
  streams: true,
  edits: {
    maxImages: 1,
    mask: "white",
    // modules/api/models.py: img2img is 512x512 by default. No more pixels than the largest models support.
    matchFirstImage: { multipleOf: 8, minEdge: 64, maxEdge: 2048, maxPixels: 1024 * 1536 },
  },
};

const readError = nativeErrorReader({
  /** modules/api/api.py, handle_exception: `{error: "HTTPException", detail: "Sampler not found", …}`. */
  messageOf: (body) => messageIn({ detail: memberOf(body, "detail") }),
  // decode_base64_to_image fails with status 500.
  classify: ({ status, message }) =>
    status === 500 && message === "Invalid encoded image" && "rejected",
});

export const automatic1111: Vendor = {
  kind: {
    name: "automatic1111",
    baseUrl: automatic1111BaseUrl,
    needs: [],
    serves: "image",
    options: {},
  },
  adapter: {
    generations: automatic1111Generations,
    edits: automatic1111Edits,
    imageCapabilities: () => imageCapabilities,
    models: {
      request: (upstream) => automatic1111Endpoint(upstream, "sdapi/v1/sd-models"),
      read: (body) =>
        Array.isArray(body) ? body.map((entry) => memberOf(entry, "model_name")) : undefined,
    },
    readError,
  },
};
