/** POST /v1/images/generations. */
import { z } from "zod";
import { parse, withoutNulls } from "../http/validate-body.ts";
import type { Endpoint } from "../pipeline/endpoint.ts";
import type { GenerationQuery, ImageResponse } from "../upstream/contract.ts";
import { fieldsWithModel, sharedFields, toQuery } from "./image-fields.ts";
import { writeImages } from "./image-response.ts";

export const generationsBody = z.looseObject(sharedFields);
const bodyWithModel = z.looseObject(fieldsWithModel);

export const generationsEndpoint: Endpoint<GenerationQuery, ImageResponse> = {
  operation: "generations",
  kind: "image",
  body: generationsBody,
  read: async (incoming, keyId, nameModel) => {
    const body = withoutNulls(await incoming.json(keyId));
    const model = nameModel(body.model);
    return { query: toQuery(parse(bodyWithModel, { ...body, model })) };
  },
  write: (response, query, context) =>
    writeImages(response, { ...context(), family: "image_generation", query }),
};
