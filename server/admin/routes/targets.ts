/** /targets: the health of every target. */
import type { ShownTarget } from "../../../contract/admin.ts";
import type { AdminRoute } from "../admin-route.ts";

export interface TargetRoutesOptions {
  readonly targets: () => Promise<readonly ShownTarget[]>;
}

export const targetRoutes = ({ targets }: TargetRoutesOptions): readonly AdminRoute[] => [
  {
    method: "GET",
    path: "/targets",
    role: "viewer",
    scope: "gateway",
    summary: "List every target with its health.",
    response: "Page<ShownTarget>",
    handle: async (context) =>
      context.json({ object: "list", data: await targets(), next_cursor: null }),
  },
];
