/** Tabs. The first one is open at first, unless the page says which one is. */
import * as Radix from "@radix-ui/react-tabs";
import type { ReactNode } from "react";

interface Tab {
  readonly name: string;
  /** Beside the name, such as a count. */
  readonly mark?: ReactNode;
  readonly content: ReactNode;
}

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly Tab[];
  /** The name of the open tab, if the page decides it. */
  readonly open?: string;
  readonly onOpen?: (name: string) => void;
}

/** Radix makes ids of the values, and an id has no spaces. */
const tabValue = (name: string): string => name.replaceAll(" ", "_");

export const Tabs = ({ label, tabs, open, onOpen }: TabsProps) => (
  <Radix.Root
    {...(open === undefined
      ? { defaultValue: tabValue(tabs[0]?.name ?? "") }
      : { value: tabValue(open) })}
    {...(onOpen && {
      onValueChange: (value) =>
        onOpen(tabs.find(({ name }) => tabValue(name) === value)?.name ?? ""),
    })}
  >
    <Radix.List aria-label={label} className="mb-2 flex flex-wrap gap-1 border-b border-line">
      {tabs.map(({ name, mark }) => (
        <Radix.Trigger
          key={name}
          value={tabValue(name)}
          className="-mb-px flex items-center gap-1.5 border-b-2 border-transparent px-3 py-1.5 text-muted hover:text-ink data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-ink"
        >
          {name}
          {mark}
        </Radix.Trigger>
      ))}
    </Radix.List>
    {tabs.map(({ name, content }) => (
      <Radix.Content key={name} value={tabValue(name)}>
        {content}
      </Radix.Content>
    ))}
  </Radix.Root>
);
