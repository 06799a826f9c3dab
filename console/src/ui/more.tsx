/** Options that few people need, behind a summary. */
import type { ReactNode } from "react";
import { Badge } from "./badge.tsx";

interface MoreProps {
  readonly label: string;
  /** The number of folded options that are set. */
  readonly mark?: number;
  readonly children: ReactNode;
}

export const More = ({ label, mark = 0, children }: MoreProps) => (
  <details className="rounded-md border border-line p-3">
    <summary className="cursor-pointer text-sm font-medium">
      {label} {mark > 0 && <Badge tone="accent">{mark}</Badge>}
    </summary>
    <div className="mt-3 flex flex-col gap-3">{children}</div>
  </details>
);
