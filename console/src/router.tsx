/** The routes of the console. Every page is a chunk of its own, loaded when it is opened first, or when it is idle. */
import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import type { ComponentType } from "react";
import { lazyComponent } from "./api/chunks.ts";
import { pathWithQuery, type Query } from "./api/client.ts";
import { sessionQuery } from "./api/session.ts";
import { readPlaygroundSearch } from "./features/models/playground-search.ts";
import { NotFound } from "./features/not-found.tsx";
import type { RequestsSearch } from "./features/requests/requests-search.ts";
import { readSignInSearch } from "./features/sign-in/sign-in-search.ts";
import type { UsageSearch } from "./features/usage/usage-search.ts";
import { Shell } from "./shell.tsx";
import { LinesSkeleton } from "./ui/skeleton.tsx";
import { Failure } from "./ui/states.tsx";

interface RouterContext {
  readonly queryClient: QueryClient;
}

const root = createRootRouteWithContext<RouterContext>()({ component: Outlet });

/** Everything behind the sign-in. */
const signedIn = createRoute({
  getParentRoute: () => root,
  id: "signed-in",
  beforeLoad: async ({ context, location }) => {
    const session = await context.queryClient.ensureQueryData(sessionQuery);
    if (!session) throw redirect({ to: "/sign-in", search: { next: location.href } });
    if (session.user.must_change_password) throw redirect({ to: "/new-password" });
    return { session };
  },
  component: Shell,
});

const signInRoute = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: readSignInSearch,
  component: lazyComponent(async () => (await import("./features/sign-in/sign-in.tsx")).SignInPage),
});

const setupRoute = createRoute({
  getParentRoute: () => root,
  path: "/setup",
  component: lazyComponent(async () => (await import("./features/sign-in/setup.tsx")).SetupPage),
});

const inviteRoute = createRoute({
  getParentRoute: () => root,
  path: "/invite",
  component: lazyComponent(async () => (await import("./features/sign-in/invite.tsx")).InvitePage),
});

/** The end of a sign-in with OpenID Connect in a window of its own. */
const signedInRoute = createRoute({
  getParentRoute: () => root,
  path: "/sign-in-done",
  validateSearch: readSignInSearch,
  component: lazyComponent(
    async () => (await import("./features/sign-in/signed-in.tsx")).SignedInPage,
  ),
});

const newPasswordRoute = createRoute({
  getParentRoute: () => root,
  path: "/new-password",
  beforeLoad: async ({ context }) => {
    if (await context.queryClient.ensureQueryData(sessionQuery)) return;
    throw redirect({ to: "/sign-in", search: { next: "/new-password" } });
  },
  component: lazyComponent(
    async () => (await import("./features/sign-in/new-password.tsx")).NewPasswordPage,
  ),
});

/** The page itself reads the parameters, and leaves out what is not valid: the first page does not load how. */
const unchecked = <Search,>(search: Record<string, unknown>): Search => search as Search;

/** A page without search parameters. */
const page = <const Path extends string>(path: Path, load: () => Promise<ComponentType>) =>
  createRoute({ getParentRoute: () => signedIn, path, component: lazyComponent(load) });

const routeTree = root.addChildren([
  signInRoute,
  setupRoute,
  inviteRoute,
  signedInRoute,
  newPasswordRoute,
  signedIn.addChildren([
    page("/", async () => (await import("./features/overview/overview.tsx")).OverviewPage),
    page("/models", async () => (await import("./features/models/models.tsx")).ModelsPage),
    page(
      "/models/new",
      async () => (await import("./features/models/edit-model.tsx")).NewModelPage,
    ),
    page(
      "/edit-model/$",
      async () => (await import("./features/models/edit-model.tsx")).EditModelPage,
    ),
    // A splat, because ids of models may contain slashes.
    page("/model/$", async () => (await import("./features/models/model.tsx")).ModelPage),
    page("/replicas", async () => (await import("./features/replicas/replicas.tsx")).ReplicasPage),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/requests",
      validateSearch: unchecked<RequestsSearch>,
      component: lazyComponent(
        async () => (await import("./features/requests/requests.tsx")).RequestsPage,
      ),
    }),
    page(
      "/requests/$id",
      async () => (await import("./features/requests/request.tsx")).RequestPage,
    ),
    page("/jobs", async () => (await import("./features/jobs/jobs.tsx")).JobsPage),
    page("/jobs/$id", async () => (await import("./features/jobs/job.tsx")).JobPage),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/usage",
      validateSearch: unchecked<UsageSearch>,
      component: lazyComponent(async () => (await import("./features/usage/usage.tsx")).UsagePage),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/playground/embeddings",
      validateSearch: readPlaygroundSearch,
      component: lazyComponent(
        async () => (await import("./features/embeddings/embeddings.tsx")).EmbeddingsPage,
      ),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/playground/images",
      validateSearch: readPlaygroundSearch,
      component: lazyComponent(
        async () => (await import("./features/images/images.tsx")).ImagesPage,
      ),
    }),
    page("/keys", async () => (await import("./features/keys/keys.tsx")).KeysPage),
    page("/keys/$id", async () => (await import("./features/keys/key.tsx")).KeyPage),
    page(
      "/upstreams",
      async () => (await import("./features/upstreams/upstreams.tsx")).UpstreamsPage,
    ),
    page(
      "/upstreams/new",
      async () => (await import("./features/upstreams/edit-upstream.tsx")).NewUpstreamPage,
    ),
    page(
      "/upstreams/$id/edit",
      async () => (await import("./features/upstreams/edit-upstream.tsx")).EditUpstreamPage,
    ),
    page(
      "/upstreams/$id",
      async () => (await import("./features/upstreams/upstream.tsx")).UpstreamPage,
    ),
    page("/projects", async () => (await import("./features/projects/projects.tsx")).ProjectsPage),
    page(
      "/projects/$id",
      async () => (await import("./features/projects/project.tsx")).ProjectPage,
    ),
    page("/webhooks", async () => (await import("./features/webhooks/webhooks.tsx")).WebhooksPage),
    page("/budgets", async () => (await import("./features/budgets/budgets.tsx")).BudgetsPage),
    page("/events", async () => (await import("./features/events/events.tsx")).EventsPage),
    page(
      "/reference/{-$api}/{-$operation}",
      async () => (await import("./features/reference/reference.tsx")).ReferencePage,
    ),
    page("/users", async () => (await import("./features/users/users.tsx")).UsersPage),
    page("/users/$id", async () => (await import("./features/users/user.tsx")).UserPage),
    // A splat, because clients choose the names.
    page(
      "/end-users/$",
      async () => (await import("./features/end-users/end-user.tsx")).EndUserPage,
    ),
    page("/account", async () => (await import("./features/account/account.tsx")).AccountPage),
    page("/alerts", async () => (await import("./features/alerts/alerts.tsx")).AlertsPage),
    page(
      "/sign-in-settings",
      async () => (await import("./features/settings/sign-in-settings.tsx")).SignInSettingsPage,
    ),
    page("/audit", async () => (await import("./features/audit/audit.tsx")).AuditPage),
    page("/settings", async () => (await import("./features/settings/settings.tsx")).SettingsPage),
    // An address without a page.
    createRoute({ getParentRoute: () => signedIn, path: "$", component: NotFound }),
  ]),
]);

export const createConsoleRouter = (queryClient: QueryClient) =>
  createRouter({
    routeTree,
    basepath: "/console",
    // Every parameter is a text.
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search) => pathWithQuery("", search as Query),
    context: { queryClient },
    defaultPendingComponent: () => <LinesSkeleton />,
    defaultErrorComponent: ({ error }) => <Failure error={error} retry={() => location.reload()} />,
    defaultNotFoundComponent: NotFound,
  });

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}
