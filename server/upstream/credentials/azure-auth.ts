/** `auth` of an Azure upstream: how it gets a token of Entra ID. */
import { z } from "zod";
import { readCertificate } from "./azure-certificate.ts";
import { requireMembers } from "./require-members.ts";

const id = z
  .string()
  .max(200)
  .regex(/^[\w.-]+$/, "must have only letters, digits and . - _");

const neededMembers = {
  default: [],
  "client-secret": ["tenantId", "clientId", "clientSecret"],
  certificate: ["tenantId", "clientId", "certificate"],
  "managed-identity": [],
  "workload-identity": [],
} as const;

const schema = z
  .strictObject({
    type: z
      .enum(["default", "client-secret", "certificate", "managed-identity", "workload-identity"])
      .describe("Entra ID instead of an API key: how the gateway gets a token."),
    tenantId: id.optional().describe("The Entra tenant, for client-secret and certificate."),
    clientId: id
      .optional()
      .describe("The app registration, or the client id of a user-assigned managed identity."),
    clientSecret: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .describe("The client secret of the app registration."),
    certificate: z
      .string()
      .max(32_768)
      .transform((pem, context) => {
        const certificate = readCertificate(pem);
        if (certificate) return certificate;
        context.addIssue({
          code: "custom",
          message: "must be a certificate and its RSA private key, in PEM",
        });
        return z.NEVER;
      })
      .optional()
      .meta({
        description: "The certificate of the app registration and its private key, in PEM.",
        multiline: true,
      }),
  })
  .superRefine(requireMembers(neededMembers));

export type AzureAuth = z.output<typeof schema>;

export const azureAuth = schema.optional();
