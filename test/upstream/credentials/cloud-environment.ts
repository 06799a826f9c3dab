/** The clouds' libraries read `process.env`: it has these variables, and no other of a cloud, while the work runs. */
import type { Environment } from "../../../server/upstream/adapter.ts";

const ofClouds = /^(?:AWS|AZURE|GOOGLE|GCE|CLOUDSDK|IDENTITY|MSI)_|^HOME$/;

export async function inEnvironment<T>(env: Environment, work: () => Promise<T>): Promise<T> {
  const before = { ...process.env };
  const clear = () => {
    for (const name of Object.keys(process.env)) if (ofClouds.test(name)) delete process.env[name];
  };
  clear();
  Object.assign(process.env, env);
  try {
    return await work();
  } finally {
    clear();
    Object.assign(process.env, before);
  }
}
