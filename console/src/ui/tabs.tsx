import * as Radix from "@radix-ui/react-tabs";
import type { ReactNode } from "react";

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly { readonly name: string; readonly content: ReactNode }[];
}

/** The first tab is open at first. */
export const Tabs = ({ label, tabs }: TabsProps) => (
  <Radix.Root defaultValue={tabs[0]?.name ?? ""}>
    <Radix.List aria-label={label} className="mb-2 flex flex-wrap gap-1 border-b border-line">
      {tabs.map(({ name }) => (
        <Radix.Trigger
          key={name}
          value={name}
          className="-mb-px border-b-2 border-transparent px-3 py-1.5 text-muted data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-ink"
        >
          {name}
        </Radix.Trigger>
      ))}
    </Radix.List>
    {tabs.map(({ name, content }) => (
      <Radix.Content key={name} value={name}>
        {content}
      </Radix.Content>
    ))}
  </Radix.Root>
);
