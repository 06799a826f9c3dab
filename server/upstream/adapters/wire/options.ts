/** Settings that several kinds of upstreams share. */
import { z } from "zod";

export const base64Option = z
  .boolean()
  .optional()
  .describe("Whether the server supports encoding_format base64, which is smaller and exact.");
