/** The upstream of the bench, a process of its own: `bun bench/upstream.ts`, prints its port. */

import { answerAtOnce, answerInSlots, createTally } from "./embeddings.ts";
import { giveLarge, giveLink, givePhoto, givePicture, servePicture, takeEdit } from "./images.ts";
import { calm, crowded } from "./scenarios.ts";

const { count, read } = createTally();

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  maxRequestBodySize: 1024 * 1024 * 1024,
  routes: {
    "/tally": () => Response.json(read()),
    "/v1/embeddings": count(answerAtOnce),
    "/crowded/v1/embeddings": count(answerInSlots(crowded)),
    "/calm/v1/embeddings": count(answerInSlots(calm)),
    "/v1/images/generations": count(givePicture),
    "/v1/images/edits": count(takeEdit),
    "/large/v1/images/generations": count(giveLarge),
    "/photos/v1/images/generations": count(givePhoto),
    "/links/v1/images/generations": count(giveLink),
    "/picture.png": servePicture,
  },
  fetch: () => new Response("not here", { status: 404 }),
});

console.log(server.port);
