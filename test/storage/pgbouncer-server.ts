/** PgBouncer, from Debian's package, in transaction mode in front of a PostgreSQL server for tests. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathOf } from "../programs.ts";
import { until } from "../until.ts";
import { freePort, type PostgresServer, unprivileged } from "./postgres-server.ts";
import { isListening } from "./redis-server.ts";

export interface PgBouncer {
  readonly port: number;
  stop(): Promise<void>;
}

/** `poolSize`: sessions of PostgreSQL, which all clients share. */
export async function startPgBouncer(
  folder: string,
  server: Pick<PostgresServer, "port">,
  poolSize: number,
): Promise<PgBouncer> {
  const port = await freePort();
  const [config, users] = [join(folder, "pgbouncer.ini"), join(folder, "users.txt")];
  writeFileSync(users, '"vexel" ""\n');
  writeFileSync(
    config,
    `[databases]
* = host=127.0.0.1 port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${poolSize}
server_login_retry = 1
ignore_startup_parameters = statement_timeout
`,
  );
  // Like PostgreSQL, it refuses to run as root, and ends with the test process.
  const command = [...unprivileged, "--pdeathsig", "SIGKILL", pathOf("pgbouncer"), config];
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  await until(() => isListening(port));
  return {
    port,
    stop: async () => {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
