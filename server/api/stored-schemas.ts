/** The bodies and responses of the routes for what clients store, for the OpenAPI document. */
import { z } from "zod";
import type { StoredRouteName } from "../http/stored-routes.ts";
import { createFileForm } from "./files.ts";

const seconds = z.int().describe("Unix seconds.");

const listOf = (entry: z.ZodType) =>
  z.object({
    object: z.literal("list"),
    data: z.array(entry),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  });

const fileResponse = z.object({
  id: z.string(),
  object: z.literal("file"),
  bytes: z.int(),
  created_at: seconds,
  expires_at: seconds.optional(),
  filename: z.string(),
  purpose: z.string(),
  status: z.literal("processed"),
});

const deletedResponse = z.object({
  id: z.string(),
  object: z.string(),
  deleted: z.literal(true),
});

/** Request bodies. `form`: the text fields of a multipart form with the file `file`. */
export const storedBodies: Partial<
  Record<
    StoredRouteName,
    { readonly json: z.ZodType } | { readonly form: z.ZodType; readonly file: string }
  >
> = {
  createFile: { form: createFileForm, file: "file" },
};

export const storedResponses: Record<StoredRouteName, { type: string; schema?: z.ZodType }> = {
  createFile: { type: "application/json", schema: fileResponse },
  files: { type: "application/json", schema: listOf(fileResponse) },
  file: { type: "application/json", schema: fileResponse },
  deleteFile: { type: "application/json", schema: deletedResponse },
  fileContent: { type: "application/octet-stream" },
};
