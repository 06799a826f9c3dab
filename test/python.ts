/**
 * A Python that has the package `openai`, for the Python samples of the documents. `VEXEL_TEST_PYTHON` is the path of
 * one in a virtual environment.
 */
const python = process.env.VEXEL_TEST_PYTHON ?? "python3";
// Without an import of the package, which takes a second.
const program = "import importlib.util as u; exit(u.find_spec('openai') is None)";

const hasOpenai = (): boolean =>
  Bun.which(python) !== null && Bun.spawnSync([python, "-c", program]).success;

export const pythonWithOpenai = hasOpenai() ? python : undefined;
export const pythonAdvice =
  "The Python samples of the documents were not run, because Python has no package `openai`. To run them: python3 -m venv ~/vexel-python && ~/vexel-python/bin/pip install openai && VEXEL_TEST_PYTHON=~/vexel-python/bin/python npm test";
/** In CI the Python samples must run: a missing package fails them. */
export const withPython = pythonWithOpenai !== undefined || process.env.CI === "true";
