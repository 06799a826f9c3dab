/**
 * The frame of a playground: the request in the left pane, which stays in view, and its results in the right pane. On
 * narrow screens the panes stack.
 */
import { type ReactNode, type Ref, useDeferredValue, useEffect } from "react";
import { LinesSkeleton } from "./skeleton.tsx";
import { type QueryState, QueryView } from "./states.tsx";

/** On a narrow screen, the results are below the request. */
export const scrollToResults = (results: HTMLElement | null): void =>
  results?.scrollIntoView({ block: "start" });

interface WorkbenchProps {
  readonly title: string;
  /** What the fields need. The parts of the page are shown together, so that none moves another one. */
  readonly query: QueryState<unknown>;
  /** The fields of the request. */
  readonly request: ReactNode;
  /** Below the fields, always in view: the button that sends the request. */
  readonly actions: ReactNode;
  readonly resultsRef?: Ref<HTMLDivElement>;
  readonly children: ReactNode;
}

export function Workbench(props: WorkbenchProps) {
  const { title, query, request, actions, resultsRef, children } = props;
  // In the same rendering as the fields.
  const isLoaded = useDeferredValue(query.data !== undefined);
  useEffect(() => {
    document.title = `${title} · Vexel`;
  }, [title]);
  return (
    <div className="lg:flex">
      <div className="flex flex-col border-line bg-surface max-lg:border-b lg:sticky lg:top-0 lg:h-dvh lg:w-80 lg:shrink-0 xl:w-96 lg:border-r">
        <h1 className="px-4 pt-4 pb-3 text-lg font-semibold tracking-tight">{title}</h1>
        <QueryView query={query} loading={<LinesSkeleton lines={12} />}>
          {() => (
            <>
              <div className="flex min-h-0 flex-1 flex-col gap-4 px-4 pb-4 *:shrink-0 lg:overflow-y-auto">
                {request}
              </div>
              <div className="flex flex-col gap-2 border-t border-line px-4 py-3">{actions}</div>
            </>
          )}
        </QueryView>
      </div>
      {isLoaded && (
        <div ref={resultsRef} className="min-w-0 flex-1 scroll-mt-14 p-4 sm:p-6">
          {children}
        </div>
      )}
    </div>
  );
}
