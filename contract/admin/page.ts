/** Pages of lists. */
import { z } from "zod";
import type { Infer } from "./infer.ts";

/** `max`: the most entries of one response. */
export const pageSchema = <Item extends z.ZodType>(item: Item, max: number) =>
  z.strictObject({
    object: z.literal("list"),
    data: z.array(item).max(max),
    next_cursor: z
      .string()
      .nullable()
      .describe("Send it as `cursor` to get the next page. `null`: this is the last page."),
  });

/** One page of a list, newest first unless the endpoint says otherwise. */
export interface Page<Item> extends Omit<Infer<ReturnType<typeof pageSchema>>, "data"> {
  readonly data: readonly Item[];
}
