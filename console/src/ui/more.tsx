/** Options that few people need, behind a summary. */
import type { ReactNode } from "react";

export const More = ({ label, children }: { label: string; children: ReactNode }) => (
  <details className="rounded-md border border-line p-3">
    <summary className="cursor-pointer text-sm font-medium">{label}</summary>
    <div className="mt-3 flex flex-col gap-3">{children}</div>
  </details>
);
