/**
 * A Python that has the package `openai`, for the Python samples of the documents. `VEXEL_TEST_PYTHON` is the path of
 * one in a virtual environment.
 */
const python = process.env.VEXEL_TEST_PYTHON ?? "python3";
/** Without an import of the package, which takes a second. */
const hasPackage = (name: string): boolean =>
  Bun.which(python) !== null &&
  Bun.spawnSync([python, "-c", `import importlib.util as u; exit(u.find_spec('${name}') is None)`])
    .success;

export const pythonWithOpenai = hasPackage("openai") ? python : undefined;
const litellmProgram =
  "import importlib.util as u; s = u.find_spec('litellm_proxy_extras'); print(s.submodule_search_locations[0] if s else '')";

/** The folder of the database migrations of LiteLLM's package `litellm-proxy-extras`, if Python has it. */
export const litellmMigrations: string | undefined = (() => {
  if (Bun.which(python) === null) return undefined;
  const folder = Bun.spawnSync([python, "-c", litellmProgram]).stdout.toString().trim();
  return folder === "" ? undefined : `${folder}/migrations`;
})();

export const pythonAdvice =
  "The Python samples of the documents were not run, because Python lacks the packages `openai` and `pillow`. To run them: python3 -m venv ~/vexel-python && ~/vexel-python/bin/pip install openai pillow && VEXEL_TEST_PYTHON=~/vexel-python/bin/python npm test";
/** In CI the Python samples must run: a missing package fails them. */
export const withPython = pythonWithOpenai !== undefined || process.env.CI === "true";
/** The samples of the documents need Pillow as well, for a mask. */
export const withPythonSamples = withPython && (process.env.CI === "true" || hasPackage("PIL"));
