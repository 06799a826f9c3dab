/** The law of the costs of batches: the cost that a batch shows is the sum of its rows. */
import { chargeOf, type Row } from "./account.ts";
import type { Outcome } from "./clients.ts";
import { models } from "./program.ts";
import { dollars, sum, type Violation } from "./violation.ts";

interface BatchCostsInput {
  readonly rows: readonly Row[];
  readonly outcomes: ReadonlyMap<number, Outcome>;
  readonly hasFaults: boolean;
}

export function checkBatchCosts({ rows, outcomes, hasFaults }: BatchCostsInput): Violation[] {
  return [...outcomes.values()].flatMap(({ op, batch }): Violation[] => {
    if (!batch || !models[op.model].priced) return [];
    const own = rows.filter(({ id }) => id.startsWith(`${batch.id}-`));
    const charged = sum(own.map(chargeOf));
    const tolerance = own.length + 1;
    // After a crash, lines that ran as requests run again, and have other rows. A vendor's result has the same row.
    const mayBeLess = op.kind === "batch" && hasFaults;
    const isWrong = mayBeLess
      ? batch.cost > charged + tolerance
      : Math.abs(batch.cost - charged) > tolerance;
    if (!isWrong) return [];
    return [
      {
        law: "sums: cost of a batch",
        text: `${op.kind} ${op.id} of ${op.key} shows ${dollars(batch.cost)}, its ${own.length} rows cost ${dollars(charged)}`,
      },
    ];
  });
}
