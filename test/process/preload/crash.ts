/** Runs inside a gateway of a test: an uncaught exception at SIGUSR2, or every so often. */

const provoke = (): void => {
  if (process.env.TEST_CRASH_KIND === "rejection") void Promise.reject(defect());
  else throw defect();
};

function defect(): Error {
  return new Error("a defect that nobody catches");
}

process.on("SIGUSR2", () => setTimeout(provoke));
const everyMs = Number(process.env.TEST_CRASH_EVERY_MS ?? 0);
// Not before the gateway itself runs: what throws while its modules are loaded is no crash of a gateway.
const isGuarded = (): boolean => process.listenerCount("uncaughtException") > 0;
if (everyMs > 0) setInterval(() => isGuarded() && provoke(), everyMs);
