/** The columns of the table `ledger`, by the names of their values. */
import { rowNames } from "../ledger-row-values.ts";

/** In the order of the values of a row: `requestId` is `request_id`. */
export const ledgerColumns: readonly string[] = rowNames.map((name) =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
);

/** For SELECT: every column under the name of its value. */
export const listedColumns = ledgerColumns
  .map((column, at) => `${column} AS "${rowNames[at]}"`)
  .join(", ");
