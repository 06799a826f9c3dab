/** The upstream of the bench, in a process of its own: `bun bench/upstream.ts`, prints its port. */

import { calm, crowded } from "./scenarios.ts";
import {
  createRequestCounter,
  embedImages,
  respondImmediately,
  respondInSlots,
} from "./upstream-embeddings.ts";
import {
  acceptEdit,
  respondWithImage,
  respondWithLargeImage,
  respondWithLink,
  respondWithPhoto,
  serveImage,
} from "./upstream-images.ts";

const { count, read } = createRequestCounter();

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  maxRequestBodySize: 1024 * 1024 * 1024,
  routes: {
    "/counts": () => Response.json(read()),
    "/v1/embeddings": count(respondImmediately),
    "/crowded/v1/embeddings": count(respondInSlots(crowded)),
    "/calm/v1/embeddings": count(respondInSlots(calm)),
    "/embedded-images/v2/embed": count(embedImages),
    "/v1/images/generations": count(respondWithImage),
    "/v1/images/edits": count(acceptEdit),
    "/large/v1/images/generations": count(respondWithLargeImage),
    "/photos/v1/images/generations": count(respondWithPhoto),
    "/links/v1/images/generations": count(respondWithLink),
    "/image.png": serveImage,
  },
  fetch: () => new Response("not found", { status: 404 }),
});

console.log(server.port);
