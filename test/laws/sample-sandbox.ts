/**
 * Runs the samples of a page where they can do no harm and where every address is as printed: in namespaces of their
 * own, with a private loopback network (so that each page has a gateway at 127.0.0.1:8080), private processes and, for
 * a page that names it, a private copy of /etc. Needs Linux, and root or user namespaces.
 */
import { chmodSync, cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { selfSigned } from "../certificate-fixture.ts";
import { command, commandEnvironment, root } from "../harness.ts";
import { pythonWithOpenai } from "../python.ts";

const quoted = (words: readonly string[]): string =>
  words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");

const unshare = [
  "unshare",
  ...(process.getuid?.() === 0 ? [] : ["--map-root-user"]),
  ...["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"],
];
/** A sample that never ends is killed, with every process that it started. */
const endsWithTest = ["setpriv", "--pdeathsig", "SIGKILL", "timeout", "--signal=KILL", "100"];

/** Whether the system allows namespaces. */
export const mayRunSamples =
  process.platform === "linux" && Bun.spawnSync([...unshare, "true"]).success;

const notRun = (reason: string): string => `echo "$0 $*: ${reason}" >> "$SANDBOX/not-run"`;
/** A command whose program cannot run here still fails if it names a file of `deploy/` that does not exist. */
const checkFiles = `for word in "$@"; do
  case "$word" in deploy/*) [ -e "$word" ] || { echo "$word does not exist" >&2; exit 1; } ;; esac
done`;

/** Programs that the samples use, and that are not the real ones here. */
const standIns: Readonly<Record<string, string>> = {
  // \`npm start\` without npm, which test/process/process-npm.slow.test.ts runs. It always runs in the folder of Vexel.
  npm: `case "$*" in
  start) cd "$SANDBOX/vexel"; exec start-gateway ;;
  "start -- db move") ${notRun("it needs PostgreSQL, and test/replicas/move-from-sqlite.slow.test.ts runs it")} ;;
  "start -- "*) cd "$SANDBOX/vexel"; exec vexel "\${@:3}" ;;
  "install openai") mkdir -p node_modules; ln -sfn "${root}/node_modules/openai" node_modules/openai ;;
  "install --global "*) ${notRun("it needs a package registry, and test/process/package.long.test.ts installs the package")} ;;
  test) ${notRun("this is a part of it")} ;;
  *) echo "npm $* is not known to the test" >&2; exit 1 ;;
esac`,
  vexel: `exec ${quoted(command)} "$@"`,
  python3: `case "$1 $2" in
  "-m venv") mkdir -p "$3/bin"; ln -s "$SANDBOX/bin/python-with-openai" "$3/bin/python"; ln -s "$SANDBOX/bin/pip" "$3/bin/pip" ;;
  *) exec ${quoted([pythonWithOpenai ?? "python3"])} "$@" ;;
esac`,
  "python-with-openai": `exec ${quoted([pythonWithOpenai ?? "python3"])} "$@"`,
  pip: `[[ "$*" == "install openai" || "$*" == "install openai pillow" ]]; ${notRun("it needs a package registry")}`,
  docker: `${checkFiles}; ${notRun("it needs a container engine, and test/laws/deploy.test.ts reads the files")}`,
  helm: `${checkFiles}; ${notRun("it needs a cluster, and test/laws/deploy.test.ts renders the chart")}`,
  kubectl: notRun("it needs a cluster"),
  systemctl: notRun("it needs systemd"),
  sqlite3: `exec ${quoted([process.execPath, "-e", 'import { Database } from "bun:sqlite"; const [file, query] = process.argv.slice(-2); console.log(new Database(file, { readonly: true }).query(query).all());'])} -- "$@"`,
  "start-gateway": `stop-gateway
: > "$SANDBOX/gateway.log"
vexel serve > "$SANDBOX/gateway.log" 2>&1 &
echo $! > "$SANDBOX/gateway.pid"
until grep -q "Base URL" "$SANDBOX/gateway.log"; do
  kill -0 $! || { cat "$SANDBOX/gateway.log" >&2; exit 1; }
  sleep 0.05
done
# The key is printed by the first start only.
[ -e "$SANDBOX/key" ] || grep -o 'sk-vx-[A-Za-z0-9_-]*' "$SANDBOX/gateway.log" | head -1 > "$SANDBOX/key"`,
  // Ctrl-C, and the exit code of an orderly shutdown.
  "stop-gateway": `[ -e "$SANDBOX/gateway.pid" ] || exit 0
pid=$(cat "$SANDBOX/gateway.pid")
kill -INT "$pid"
while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
rm "$SANDBOX/gateway.pid"`,
  "printed-key": `cat "$SANDBOX/key"`,
  // The user of the page, who has forgotten a password.
  "user-id": `curl http://127.0.0.1:8080/admin/api/users -H "Authorization: Bearer $VEXEL_ADMIN_TOKEN" \\
  -H "Content-Type: application/json" -d '{"name":"ada","password":"a long password","role":"viewer"}' \\
  | grep -o '"id": *"[^"]*"' | head -1 | cut -d '"' -f 4`,
  // A body of the page, in a request to the path of its heading.
  "send-request": `curl "http://127.0.0.1:8080$1" -H "Authorization: Bearer $(printed-key)" \\
  -H "Content-Type: application/json" -d @-`,
  // The certificate of the page has the name of its server.
  "proxy-with-nginx": `npm start
{
  echo "user root; error_log stderr; pid $SANDBOX/nginx.pid; events {} http { access_log off;"
  for kind in client_body proxy fastcgi uwsgi scgi; do echo "\${kind}_temp_path $SANDBOX/nginx-$kind;"; done
  cat
  echo "}"
} > "$SANDBOX/nginx.conf"
nginx -c "$SANDBOX/nginx.conf"
curl --cacert /etc/ssl/vexel.pem https://vexel.example.com/healthz`,
};

/** Files that the reader of a page has. */
export type ReaderFiles = Readonly<Record<string, string | Uint8Array>>;

interface PageRun {
  readonly exitCode: number;
  readonly output: string;
}

/** Runs the script in a new sandbox below `folder`. The reader's files are in the folder of Vexel. */
export async function runInSandbox(options: {
  readonly folder: string;
  readonly script: string;
  readonly files: ReaderFiles;
}): Promise<PageRun> {
  const { folder, script, files } = options;
  for (const name of ["bin", "home", "vexel"]) mkdirSync(join(folder, name), { recursive: true });
  cpSync(join(root, "deploy"), join(folder, "vexel/deploy"), { recursive: true });
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(folder, "vexel", name), content);
  for (const [name, text] of Object.entries(standIns)) {
    writeFileSync(join(folder, "bin", name), `#!/bin/bash\nset -eu -o pipefail\n${text}\n`);
    chmodSync(join(folder, "bin", name), 0o755);
  }
  // Otherwise curl exits with 0 after an HTTP error.
  writeFileSync(join(folder, "home/.curlrc"), "fail-with-body\nsilent\nshow-error\n");
  const hasEtc = script.includes("/etc/");
  if (hasEtc) copyEtc(folder);
  const isStarted = /^[^#\n]*npm start(?: *#.*)?$/m.test(script);
  const usesGateway = /curl |npm start|send-request|printed-key/.test(script);
  const lines = [
    "set -eu -o pipefail",
    "ip link set lo up",
    ...(hasEtc ? ['mount --bind "$SANDBOX/etc" /etc'] : []),
    // A page that does not say how to start a gateway expects that one is running.
    ...(isStarted || !usesGateway ? [] : ["npm start"]),
    script,
    "stop-gateway",
  ];
  writeFileSync(join(folder, "page.sh"), lines.join("\n"));
  const child = Bun.spawn(
    [...endsWithTest, ...unshare, "bash", "-c", "exec bash page.sh > output 2>&1"],
    {
      cwd: folder,
      env: {
        ...commandEnvironment,
        PATH: `${join(folder, "bin")}:${process.env.PATH}:/usr/sbin:/sbin`,
        HOME: join(folder, "home"),
        SANDBOX: folder,
      },
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit",
    },
  );
  const exitCode = await child.exited;
  return { exitCode, output: await Bun.file(join(folder, "output")).text() };
}

/** A copy of /etc with the host names and certificates of the pages. */
function copyEtc(folder: string): void {
  const etc = join(folder, "etc");
  Bun.spawnSync(["cp", "-a", "/etc", etc]);
  for (const name of ["vexel", "systemd/system", "ssl"])
    mkdirSync(join(etc, name), { recursive: true });
  const { cert, key } = selfSigned(folder, "DNS:vexel.example.com");
  for (const name of ["vexel/fullchain.pem", "ssl/vexel.pem"]) writeFileSync(join(etc, name), cert);
  for (const name of ["vexel/privkey.pem", "ssl/vexel.key"]) writeFileSync(join(etc, name), key);
  writeFileSync(join(etc, "hosts"), "127.0.0.1 localhost vexel.example.com\n");
}
