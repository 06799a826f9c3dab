/** The queries of the account page. */
import { queryOptions } from "@tanstack/react-query";
import type { Account, AccountSession, AdminToken } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { listQuery } from "../../api/lists.ts";

export const accountQuery = queryOptions({
  queryKey: ["/account"],
  queryFn: ({ signal }) => call<Account>("/account", { signal }),
});

export const accountSessionsQuery = listQuery<AccountSession>("/account/sessions");
export const accountTokensQuery = listQuery<AdminToken>("/account/tokens");
