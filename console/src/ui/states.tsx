/** Empty and error states, the same on every page, and the state of a query. */
import { type ReactNode, useDeferredValue } from "react";
import { errorText, isNotFound } from "../api/client.ts";
import { useT } from "../i18n/messages.ts";
import { Button } from "./button.tsx";
import { TableSkeleton } from "./skeleton.tsx";

export const Empty = ({ title, children }: { title: string; children?: ReactNode }) => (
  <div className="flex flex-col items-center gap-2 px-4 py-10 text-center">
    <p className="font-medium">{title}</p>
    {children !== undefined && <div className="max-w-md text-muted">{children}</div>}
  </div>
);

export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const t = useT();
  if (isNotFound(error)) return <Empty title={t("state.notFound")}>{errorText(error)}</Empty>;
  return (
    <div role="alert" className="flex flex-col items-center gap-3 px-4 py-10 text-center">
      <p className="font-medium text-bad">{t("state.failed")}</p>
      <p className="max-w-xl break-words text-muted">{errorText(error)}</p>
      {retry && <Button onClick={retry}>{t("action.retry")}</Button>}
    </div>
  );
}

export interface QueryState<Data> {
  readonly data: Data | undefined;
  readonly error: unknown;
  readonly refetch: () => unknown;
}

interface QueryViewProps<Data> {
  readonly query: QueryState<Data>;
  /** The placeholder in the shape of the page. The default is that of a table. */
  readonly loading?: ReactNode;
  readonly children: (data: Data) => ReactNode;
}

/** Renders what a query has: data if any (also while it is refreshed), else the error, else the loading state. */
export function QueryView<Data>({
  query,
  loading = <TableSkeleton />,
  children,
}: QueryViewProps<Data>) {
  // A deferred value is rendered in small tasks, so that the page responds while a long list is drawn.
  const data = useDeferredValue(query.data);
  if (data !== undefined) return children(data);
  if (query.error) return <Failure error={query.error} retry={() => query.refetch()} />;
  return loading;
}
