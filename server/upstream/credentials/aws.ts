/** Keys of AWS, from the same sources and in the same order as the AWS SDKs. */
import type { AwsKeys, Credential } from "../adapter.ts";
import type { Upstream } from "../contract.ts";
import type { AwsAuth } from "./aws-auth.ts";

/** Undefined if the upstream has a static key. */
export function awsCredential({ options, apiKey }: Upstream): Credential<AwsKeys> | undefined {
  const {
    auth,
    region = "",
    ...own
  }: { auth?: AwsAuth; region?: string } & Partial<AwsKeys> = options;
  if (!auth || apiKey !== undefined) return undefined;
  return {
    issue: async (context) => {
      const { awsKeys } = await import("./aws-sdk.ts");
      return awsKeys(auth, region, own, context);
    },
  };
}
