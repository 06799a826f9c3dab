/** The frame of the pages that show what one project, key, upstream or user spends, in a time range. */
import { type ReactNode, useState } from "react";
import type { Range } from "../../lib/range.ts";
import { Page } from "../../ui/page.tsx";
import { RangeButtons } from "../../ui/range-buttons.tsx";
import { type UsageRange, usageRange } from "../usage/usage-range.ts";

interface SpendPageProps {
  readonly title: string;
  readonly description?: string;
  readonly parent: { readonly to: string; readonly title: string };
  readonly children: (time: UsageRange) => ReactNode;
}

export function SpendPage({ children, ...page }: SpendPageProps) {
  const [range, setRange] = useState<Range>("month");
  return (
    <Page {...page} actions={<RangeButtons value={range} onChange={setRange} />}>
      {children(usageRange({ range }, undefined, Date.now()))}
    </Page>
  );
}
