/** The frame of every page: the list that it belongs to, heading, one sentence about it, actions. */
import { Link } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import { useT } from "../i18n/messages.ts";

interface PageProps {
  readonly title: string;
  /** The page of the list that this page is one entry of. */
  readonly parent?: { readonly to: string; readonly title: string };
  /** The name of this page in the breadcrumbs, if it is not the title. */
  readonly crumb?: string;
  readonly description?: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function Page({ title, parent, crumb = title, description, actions, children }: PageProps) {
  const t = useT();
  useEffect(() => {
    document.title = `${title} · Vexel`;
  }, [title]);
  return (
    <div className="mx-auto flex w-full max-w-6xl flex-col gap-4 p-4 sm:p-6" data-page-parts="">
      <header className="flex flex-wrap items-start justify-between gap-3">
        <div className="min-w-0">
          {parent && (
            <nav
              aria-label={t("page.breadcrumbs")}
              className="mb-1 flex min-w-0 gap-1.5 text-xs text-muted"
            >
              <Link to={parent.to} className="hover:text-ink hover:underline">
                {parent.title}
              </Link>
              <span aria-hidden="true">/</span>
              <span aria-current="page" className="min-w-0 truncate" title={crumb}>
                {crumb}
              </span>
            </nav>
          )}
          <h1 className="text-xl font-semibold tracking-tight break-words">{title}</h1>
          {description !== undefined && <p className="mt-0.5 text-muted">{description}</p>}
        </div>
        {actions !== undefined && <div className="flex flex-wrap gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  );
}
