/** The frame of every page: heading, one sentence about it, actions. */
import { type ReactNode, useEffect } from "react";

interface PageProps {
  readonly title: string;
  readonly description?: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function Page({ title, description, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Vexel`;
  }, [title]);
  return (
    <div className="mx-auto flex w-full max-w-6xl flex-col gap-4 p-4 sm:p-6">
      <header className="flex flex-wrap items-start justify-between gap-3">
        <div className="min-w-0">
          <h1 className="text-xl font-semibold tracking-tight break-words">{title}</h1>
          {description !== undefined && <p className="mt-0.5 text-muted">{description}</p>}
        </div>
        {actions !== undefined && <div className="flex flex-wrap gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  );
}
