import type { ApiKey, KeyUse, Page } from "../../../../contract/admin.ts";
import { listQuery } from "../../api/lists.ts";

/** What the keys of one page were used for. */
export const keyUseQuery = ({ data }: Page<ApiKey>) =>
  listQuery<KeyUse>("/key-use", { ids: data.map(({ id }) => id).join(",") });
