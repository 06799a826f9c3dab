/** GET /admin/targets: the health of every target. */
import { Hono } from "hono";
import type { ShownTarget } from "../../contract/admin.ts";
import { type AdminEnv, uncachedJson } from "./admin-env.ts";

export interface TargetsApiOptions {
  readonly targets: () => readonly ShownTarget[];
}

export const targetsApi = ({ targets }: TargetsApiOptions): Hono<AdminEnv> =>
  new Hono<AdminEnv>().get("/", (context) =>
    uncachedJson(context, { object: "list", data: targets() }),
  );
