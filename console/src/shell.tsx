/** The frame around every page: the menu and the user. */
import { useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import {
  Link,
  Outlet,
  useBlocker,
  useNavigate,
  useRouter,
  useRouterState,
} from "@tanstack/react-router";
import { CircleUser, Menu as MenuIcon, X } from "lucide-react";
import { Suspense, useEffect, useState, useSyncExternalStore } from "react";
import { lazyComponent, OtherBuildError } from "./api/chunks.ts";
import { useProjectScope } from "./api/project-scope.ts";
import { hasSessionEnded, sessionQuery, signOut, subscribeToSession } from "./api/session.ts";
import { OpenPalette } from "./features/palette/open-palette.tsx";
import { ProjectSwitcher } from "./features/projects/project-switcher.tsx";
import { useT } from "./i18n/messages.ts";
import { classNames } from "./lib/class-names.ts";
import { mayOpen, menu, menuEntryOf } from "./navigation.ts";
import { Button } from "./ui/button.tsx";
import { ConnectionLost } from "./ui/connection-lost.tsx";
import { NotAllowed } from "./ui/not-allowed.tsx";
import { showToast } from "./ui/toast.ts";

const SignInDialog = lazyComponent(
  async () => (await import("./features/sign-in/sign-in-dialog.tsx")).SignInDialog,
);

/** A page is left when the next one is loaded: without a connection, nothing that was typed is lost. */
function useLoadedPages(): void {
  const t = useT();
  const { routesById } = useRouter();
  useBlocker({
    enableBeforeUnload: false,
    shouldBlockFn: async ({ next }) => {
      const route = routesById[next.routeId as keyof typeof routesById];
      const component: { preload?: () => Promise<unknown> | undefined } | undefined =
        route?.options.component;
      try {
        await component?.preload?.();
        return false;
      } catch (error) {
        // The page says itself that a new version is running.
        if (!(error instanceof OtherBuildError)) showToast(t("state.pageNotLoaded"));
        return true;
      }
    },
  });
}

export function Shell() {
  const t = useT();
  useLoadedPages();
  const hasEnded = useSyncExternalStore(subscribeToSession, hasSessionEnded);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(() => setMenuOpen(false), [path]);
  const { data: session } = useSuspenseQuery(sessionQuery);
  const entry = menuEntryOf(path);
  const project = useProjectScope();
  // Links from a page without projects lead back to those of the same project.
  const [keptProject, setKeptProject] = useState<string>();
  useEffect(() => {
    if (entry?.hasProjects) setKeptProject(project);
  }, [entry, project]);
  const isRefused = entry && session && !mayOpen(session.user, entry);
  return (
    <div className="flex min-h-dvh flex-col lg:flex-row">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:rounded focus:bg-surface focus:p-2"
      >
        {t("app.skip")}
      </a>
      <header className="sticky top-0 z-20 flex items-center justify-between border-b border-line bg-surface px-4 py-2 lg:hidden">
        <Brand />
        <Button
          look="quiet"
          aria-label={t("app.menu")}
          aria-expanded={isMenuOpen}
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          {isMenuOpen ? <X /> : <MenuIcon />}
        </Button>
      </header>
      <aside
        className={classNames(
          "flex w-full shrink-0 flex-col gap-4 border-line bg-surface p-3 lg:sticky lg:top-0 lg:h-dvh lg:w-60 lg:border-r",
          isMenuOpen ? "flex border-b" : "hidden lg:flex",
        )}
      >
        <div className="hidden px-2 pt-1 lg:block">
          <Brand />
        </div>
        <OpenPalette
          pages={menu
            .flatMap(({ entries }) => entries)
            .filter((each) => session && mayOpen(session.user, each))}
        />
        <Menu project={keptProject} />
        <SignedInUser />
      </aside>
      <main id="content" tabIndex={-1} className="min-w-0 flex-1 outline-none">
        <ConnectionLost />
        {session?.user.projects?.length === 0 && (
          <p className="border-b border-line bg-warn-soft px-4 py-2 text-warn sm:px-6">
            {t("app.noProjects")}
          </p>
        )}
        {entry?.hasProjects && !isRefused && <ProjectSwitcher />}
        {isRefused ? <NotAllowed /> : <Outlet />}
      </main>
      <Suspense>{hasEnded && <SignInDialog />}</Suspense>
    </div>
  );
}

const Brand = () => (
  <Link to="/" className="flex items-center gap-2 text-base font-semibold tracking-tight">
    <img src="/console/icon.svg" alt="" className="size-6" />
    Vexel
  </Link>
);

/** `project`: of the pages that are shown for one. */
function Menu({ project }: { project: string | undefined }) {
  const t = useT();
  const { data: session } = useSuspenseQuery(sessionQuery);
  return (
    <nav
      aria-label={t("app.menu")}
      className="flex min-h-0 flex-1 flex-col gap-3 lg:overflow-y-auto"
    >
      {menu.map(({ label, entries }) => {
        const visible = entries.filter((entry) => session && mayOpen(session.user, entry));
        if (visible.length === 0) return null;
        return (
          <div key={label}>
            <p className="px-2 pb-1 text-xs font-medium text-muted">{t(label)}</p>
            <ul className="flex flex-col gap-0.5">
              {visible.map(({ path, label: name, icon: Icon, hasProjects }) => (
                <li key={path}>
                  <Link
                    to={path}
                    search={hasProjects && project !== undefined ? { project } : {}}
                    activeOptions={{ exact: path === "/", includeSearch: false }}
                    className="flex items-center gap-2 rounded-md px-2 py-1.5 hover:bg-sunken lg:py-1 aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent"
                  >
                    <Icon />
                    {t(name)}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}

/** The signed-in user, with the page of the account, and sign-out. */
function SignedInUser() {
  const t = useT();
  const { data: session } = useSuspenseQuery(sessionQuery);
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const leave = async (): Promise<void> => {
    const { continue_at } = await signOut();
    queryClient.clear();
    if (continue_at === null) await navigate({ to: "/sign-in" });
    else window.location.assign(continue_at);
  };
  return (
    <div className="flex items-center justify-between gap-2 border-t border-line pt-3">
      <Link
        to="/account"
        title={t("nav.account")}
        className="flex min-w-0 flex-1 items-center gap-2 rounded-md px-2 py-1 hover:bg-sunken aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent"
      >
        <CircleUser />
        <span className="min-w-0 truncate">{session?.user.name}</span>
      </Link>
      <Button size="small" look="quiet" onClick={leave}>
        {t("app.signOut")}
      </Button>
    </div>
  );
}
