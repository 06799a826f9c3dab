/** POST /v1/images/generations. */
import { z } from "zod";
import type { GenerationQuery, ImageReply } from "../../upstream/contract.ts";
import type { Endpoint } from "../endpoint.ts";
import { parse } from "../parse.ts";
import { withoutNulls } from "./fields.ts";
import { writeImages } from "./image-answer.ts";
import { sharedFields, toQuery } from "./image-fields.ts";

export const generationsBody = z.looseObject(sharedFields);

export const generationsEndpoint: Endpoint<GenerationQuery, ImageReply> = {
  operation: "generations",
  kind: "image",
  body: generationsBody,
  read: async (incoming) => {
    const body = withoutNulls(await incoming.json());
    return { query: toQuery(parse(generationsBody, body)) };
  },
  write: (reply, query, context) =>
    writeImages(reply, { ...context(), family: "image_generation", query }),
};
