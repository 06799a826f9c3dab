/** Checks that `auth` has the members that its type needs. */
import type { z } from "zod";

export const requireMembers =
  (needed: Readonly<Record<string, readonly string[]>>) =>
  (auth: { readonly type: string }, context: z.RefinementCtx): void => {
    const given = auth as Readonly<Record<string, unknown>>;
    for (const name of needed[auth.type] ?? []) {
      if (given[name] !== undefined) continue;
      const message = `is missing: type ${auth.type} needs it`;
      context.addIssue({ code: "custom", path: [name], message });
    }
  };
