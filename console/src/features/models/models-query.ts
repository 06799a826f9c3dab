/** The models that the user may see, with the health of their targets, and one of them with its definition. */
import { queryOptions } from "@tanstack/react-query";
import type { ModelDetail, Page, ShownModel } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";

export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: ({ signal }) => call<Page<ShownModel>>("/models", { signal }),
  refetchInterval: 10_000,
});

export const modelDetailQuery = (id: string) =>
  queryOptions({
    queryKey: ["/models", id],
    queryFn: () => call<ModelDetail>(`/models/${encodeURIComponent(id)}`),
  });
