/** /targets: the health of every target. */
import type { ShownTarget } from "../../../contract/admin.ts";
import type { AdminRoute } from "../admin-route.ts";

export interface TargetRoutesOptions {
  readonly targets: () => readonly ShownTarget[];
}

export const targetRoutes = ({ targets }: TargetRoutesOptions): readonly AdminRoute[] => [
  {
    method: "GET",
    path: "/targets",
    role: "viewer",
    scope: "gateway",
    summary: "List every target with its health.",
    response: "Page<ShownTarget>",
    handle: (context) => context.json({ object: "list", data: targets(), next_cursor: null }),
  },
];
