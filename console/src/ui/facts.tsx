/** Names and values in columns. A value of `null` is left out. */
import type { ReactNode } from "react";
import { Card } from "./card.tsx";

export type FactRow = readonly [name: string, value: ReactNode];

export const FactsCard = ({ rows }: { rows: readonly FactRow[] }) => (
  <Card>
    <dl className="grid grid-cols-2 gap-x-6 gap-y-2 p-4 lg:grid-cols-3">
      {rows
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div key={name} className="min-w-0">
            <dt className="text-xs text-muted">{name}</dt>
            <dd className="break-words">{value}</dd>
          </div>
        ))}
    </dl>
  </Card>
);
