/** The start of the console in the browser. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { LucideProvider } from "lucide-react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { loadWhenIdle, startIdleLoading } from "./api/chunks.ts";
import { isConnectionProblem, setUnauthorizedHandler } from "./api/client.ts";
import { hasSessionEnded, listenForSession, sessionQuery } from "./api/session.ts";
import { loadCatalog } from "./i18n/messages.ts";
import { LanguageProvider, loadInitialLanguage } from "./i18n/provider.tsx";
import { createConsoleRouter } from "./router.tsx";
import "./ui/style-nonce.ts";
import { ToastRegion } from "./ui/toast-region.tsx";

const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // Only lost connections and server errors are retried: a refused request would be refused again.
      retry: (failures, error) => failures < 2 && isConnectionProblem(error),
      // A page that could not load its data loads it as soon as the gateway responds again.
      refetchInterval: ({ state }) => (isConnectionProblem(state.error) ? 5_000 : false),
      // The gateway may be on this machine or in the same network, also without an internet connection.
      networkMode: "always",
      staleTime: 5_000,
    },
  },
});

const router = createConsoleRouter(queryClient);

let isCheckingSession = false;
/** A response of a vendor may have the status 401, too. */
async function checkSession(): Promise<void> {
  if (isCheckingSession) return;
  isCheckingSession = true;
  try {
    await queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 });
  } catch {
    // The connection is lost. The next refused request checks the session again.
  } finally {
    isCheckingSession = false;
  }
}
setUnauthorizedHandler(checkSession);

// Another tab or window has signed in: this one goes on with the same user, and is loaded again for another one.
listenForSession(async () => {
  const wasEnded = hasSessionEnded();
  await checkSession();
  if (wasEnded && !hasSessionEnded()) await queryClient.invalidateQueries();
});

// The frame of index.html stays until the first page replaces it as a whole.
const [initialLanguage] = await Promise.all([loadInitialLanguage(), router.load()]);

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <LanguageProvider initial={initialLanguage}>
      <QueryClientProvider client={queryClient}>
        <LucideProvider size={16} strokeWidth={1.75} className="shrink-0">
          <RouterProvider router={router} />
          <ToastRegion />
        </LucideProvider>
      </QueryClientProvider>
    </LanguageProvider>
  </StrictMode>,
);

for (const load of Object.values(loadCatalog)) loadWhenIdle(load);
// A worker is a file and no chunk: it stays in the cache of the browser.
loadWhenIdle(async () => {
  const worker = document.querySelector<HTMLMetaElement>('meta[name="vector-worker"]')?.content;
  if (worker) await fetch(worker);
});
startIdleLoading();
