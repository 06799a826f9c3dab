/** Programs that run at the same time: most of their time they wait. */
const most = 3;
let running = 0;
const waiting: (() => void)[] = [];

export async function inTurn<T>(run: () => Promise<T>): Promise<T> {
  if (running === most) await new Promise<void>((resolve) => waiting.push(resolve));
  else running++;
  try {
    return await run();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}
