/** The start of the console in the browser. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "./api/client.ts";
import { LanguageProvider } from "./i18n/provider.tsx";
import { createConsoleRouter } from "./router.tsx";

const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // Only lost connections and server errors are retried: a refused request would be refused again.
      retry: (failures, error) =>
        failures < 2 && !(error instanceof ApiError && error.status < 500),
      staleTime: 5_000,
    },
  },
});

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <LanguageProvider>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={createConsoleRouter(queryClient)} />
      </QueryClientProvider>
    </LanguageProvider>
  </StrictMode>,
);
