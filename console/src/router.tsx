/** The routes of the console. Every page is a chunk of its own, loaded when it is opened first. */
import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { sessionQuery } from "./api/session.ts";
import { readPlaygroundSearch } from "./features/models/playground-search.ts";
import { NotFound } from "./features/not-found.tsx";
import { readRequestsSearch } from "./features/requests/requests-search.ts";
import { readSignInSearch } from "./features/sign-in/sign-in-search.ts";
import { readUsageSearch } from "./features/usage/usage-search.ts";
import { Shell } from "./shell.tsx";
import { Failure, Loading } from "./ui/states.tsx";

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
  component: lazyRouteComponent(() => import("./features/sign-in/sign-in.tsx"), "SignInPage"),
});

const setupRoute = createRoute({
  getParentRoute: () => root,
  path: "/setup",
  component: lazyRouteComponent(() => import("./features/sign-in/setup.tsx"), "SetupPage"),
});

const inviteRoute = createRoute({
  getParentRoute: () => root,
  path: "/invite",
  component: lazyRouteComponent(() => import("./features/sign-in/invite.tsx"), "InvitePage"),
});

const newPasswordRoute = createRoute({
  getParentRoute: () => root,
  path: "/new-password",
  component: lazyRouteComponent(
    () => import("./features/sign-in/new-password.tsx"),
    "NewPasswordPage",
  ),
});

const routeTree = root.addChildren([
  signInRoute,
  setupRoute,
  inviteRoute,
  newPasswordRoute,
  signedIn.addChildren([
    createRoute({
      getParentRoute: () => signedIn,
      path: "/",
      component: lazyRouteComponent(
        () => import("./features/overview/overview.tsx"),
        "OverviewPage",
      ),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/models",
      component: lazyRouteComponent(() => import("./features/models/models.tsx"), "ModelsPage"),
    }),
    // A splat, because ids of models may contain slashes.
    createRoute({
      getParentRoute: () => signedIn,
      path: "/model/$",
      component: lazyRouteComponent(() => import("./features/models/model.tsx"), "ModelPage"),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/replicas",
      component: lazyRouteComponent(
        () => import("./features/replicas/replicas.tsx"),
        "ReplicasPage",
      ),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/requests",
      validateSearch: readRequestsSearch,
      component: lazyRouteComponent(
        () => import("./features/requests/requests.tsx"),
        "RequestsPage",
      ),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/requests/$id",
      component: lazyRouteComponent(() => import("./features/requests/request.tsx"), "RequestPage"),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/jobs",
      component: lazyRouteComponent(() => import("./features/jobs/jobs.tsx"), "JobsPage"),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/jobs/$id",
      component: lazyRouteComponent(() => import("./features/jobs/job.tsx"), "JobPage"),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/usage",
      validateSearch: readUsageSearch,
      component: lazyRouteComponent(() => import("./features/usage/usage.tsx"), "UsagePage"),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/playground/embeddings",
      validateSearch: readPlaygroundSearch,
      component: lazyRouteComponent(
        () => import("./features/embeddings/embeddings.tsx"),
        "EmbeddingsPage",
      ),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/playground/images",
      validateSearch: readPlaygroundSearch,
      component: lazyRouteComponent(() => import("./features/images/images.tsx"), "ImagesPage"),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/keys",
      component: lazyRouteComponent(() => import("./features/keys/keys.tsx"), "KeysPage"),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/upstreams",
      component: lazyRouteComponent(
        () => import("./features/upstreams/upstreams.tsx"),
        "UpstreamsPage",
      ),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/projects",
      component: lazyRouteComponent(
        () => import("./features/projects/projects.tsx"),
        "ProjectsPage",
      ),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/webhooks",
      component: lazyRouteComponent(
        () => import("./features/webhooks/webhooks.tsx"),
        "WebhooksPage",
      ),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/budgets",
      component: lazyRouteComponent(() => import("./features/budgets/budgets.tsx"), "BudgetsPage"),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/events",
      component: lazyRouteComponent(() => import("./features/events/events.tsx"), "EventsPage"),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/reference",
      component: lazyRouteComponent(
        () => import("./features/reference/reference.tsx"),
        "ReferencePage",
      ),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/users",
      component: lazyRouteComponent(() => import("./features/users/users.tsx"), "UsersPage"),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/account",
      component: lazyRouteComponent(() => import("./features/account/account.tsx"), "AccountPage"),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/alerts",
      component: lazyRouteComponent(() => import("./features/alerts/alerts.tsx"), "AlertsPage"),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/sign-in-settings",
      component: lazyRouteComponent(
        () => import("./features/settings/sign-in-settings.tsx"),
        "SignInSettingsPage",
      ),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/audit",
      component: lazyRouteComponent(() => import("./features/audit/audit.tsx"), "AuditPage"),
    }),
    createRoute({
      getParentRoute: () => signedIn,
      path: "/settings",
      component: lazyRouteComponent(
        () => import("./features/settings/settings.tsx"),
        "SettingsPage",
      ),
    }),
    // An address without a page.
    createRoute({ getParentRoute: () => signedIn, path: "$", component: NotFound }),
  ]),
]);

export const createConsoleRouter = (queryClient: QueryClient) =>
  createRouter({
    routeTree,
    basepath: "/console",
    context: { queryClient },
    defaultPendingComponent: () => <Loading />,
    defaultErrorComponent: ({ error }) => <Failure error={error} retry={() => location.reload()} />,
    defaultNotFoundComponent: NotFound,
  });

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}
