/** The types of the schemas of the admin API. */
import type { z } from "zod";

type ReadonlyDeep<Type> = Type extends object
  ? { readonly [Key in keyof Type]: ReadonlyDeep<Type[Key]> }
  : Type;

/** `z.infer`, with all members and lists readonly. */
export type Infer<Schema extends z.ZodType> = ReadonlyDeep<z.infer<Schema>>;
