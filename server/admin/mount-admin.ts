/** Mounts the admin API in the HTTP server. */
import { serveByFetch } from "../http/fetch-bridge.ts";
import type { Mount } from "../http/route.ts";
import type { AdminAppOptions } from "./admin-app.ts";

export function mountAdmin(options: AdminAppOptions): Mount {
  // Loaded on demand: without requests for the admin API, its framework takes no memory.
  const load = async () => (await import("./admin-app.ts")).createAdminApp(options);
  let loading: ReturnType<typeof load> | undefined;
  return {
    prefix: "/admin",
    handle: async (incoming) => {
      loading ??= load();
      const app = await loading;
      try {
        return await serveByFetch(incoming, (request) => app.fetch(request, { incoming }));
      } finally {
        incoming.releaseBody();
      }
    },
  };
}
