/** The cost of a playground request, from its row in the ledger. Streams have no header that could report it. */
import type { ShownRequest } from "../../contract/admin.ts";
import { call } from "./client.ts";

/** US dollars. `null`: unknown. */
export async function requestCost(response: Response): Promise<number | null> {
  const id = response.headers.get("x-request-id");
  if (id === null) return null;
  try {
    const { cost, estimated_cost } = await call<ShownRequest>(`/requests/${id}`);
    return cost ?? estimated_cost;
  } catch {
    // The result is worth showing without its cost.
    return null;
  }
}
