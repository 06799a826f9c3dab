/** `auth` of an AWS upstream: where it gets keys. */
import { z } from "zod";
import { requireMembers } from "./require-members.ts";

const name = (max: number, pattern: RegExp, message: string) =>
  z.string().min(1).max(max).regex(pattern, message).optional();

const schema = z
  .strictObject({
    type: z
      .enum(["default", "profile", "web-identity", "container", "instance", "access-key"])
      .describe("Credentials of AWS instead of static keys: where the gateway gets them."),
    profile: name(200, /^[^[\]\r\n]+$/, "must not contain brackets or line breaks").describe(
      "The profile in the AWS files of the gateway's machine, for the type profile.",
    ),
    roleArn: name(2048, /^arn:[\w+=,.@:/-]+$/, "must be the ARN of a role").describe(
      "A role that is assumed with these credentials.",
    ),
    externalId: name(
      1224,
      /^[\w+=,.@:/-]+$/,
      "must have only letters, digits and + = , . @ : / - _",
    ).describe("The external id that the role requires."),
    sessionName: name(
      64,
      /^[\w+=,.@-]+$/,
      "must have only letters, digits and + = , . @ - _",
    ).describe("The name of the role's session in CloudTrail. The default is vexel."),
  })
  .superRefine(requireMembers({ profile: ["profile"], "access-key": ["roleArn"] }));

export type AwsAuth = z.output<typeof schema>;

export const awsAuth = schema.optional();
