/**
 * Schemas that read a configuration with errors. A value of the wrong type counts as absent here, because the strict
 * schema reports it.
 */
import { z } from "zod";

export const lenientText = z.string().optional().catch(undefined);

export const lenientList = <T extends z.ZodRawShape>(shape: T) =>
  z
    .array(
      z
        .object(shape)
        .partial()
        .catch({} as never),
    )
    .catch([]);
