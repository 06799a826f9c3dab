/** The models that the user may see, with the health of their targets. */
import { queryOptions } from "@tanstack/react-query";
import type { Page, ShownModel } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";

export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: ({ signal }) => call<Page<ShownModel>>("/models", { signal }),
  refetchInterval: 10_000,
});
