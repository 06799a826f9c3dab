/** A framed section of a page, with an optional title and actions. */
import type { ReactNode } from "react";
import { classNames } from "../lib/class-names.ts";

interface CardProps {
  readonly title?: ReactNode;
  readonly actions?: ReactNode;
  readonly className?: string;
  readonly children: ReactNode;
}

export const Card = ({ title, actions, className, children }: CardProps) => (
  <section className={classNames("rounded-lg border border-line bg-surface", className)}>
    {(title !== undefined || actions !== undefined) && (
      <header className="flex flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-2.5">
        <h2 className="min-w-0 text-sm font-semibold">{title}</h2>
        {actions}
      </header>
    )}
    {children}
  </section>
);
