/**
 * The law for some seeds from the command line: `bun test/money/run.ts FROM [TO]`. `MONEY_CHECKOUT` is the folder of another
 * checkout, whose gateways run instead; `MONEY_SHOWN` is the number of violations that are printed of each kind.
 */
import { runScenario } from "./run-program.ts";
import { scenarioOf } from "./scenarios.ts";

const [from = "0", to = from] = process.argv.slice(2);
let broken = 0;
for (let seed = Number(from); seed <= Number(to); seed++) {
  const { violations, summary } = await runScenario(scenarioOf(seed), process.env.MONEY_CHECKOUT);
  console.log(summary);
  for (const [law, own] of Map.groupBy(violations, (each) => each.law)) {
    console.log(`  ${own.length} × ${law}`);
    for (const { text } of own.slice(0, Number(process.env.MONEY_SHOWN ?? 3)))
      console.log(`      ${text}`);
  }
  broken += violations.length;
}
process.exit(broken === 0 ? 0 : 1);
