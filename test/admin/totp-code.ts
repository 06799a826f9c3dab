/** The authenticator app of a user. */
import { codeOfStep } from "../../server/admin/sign-in/totp.ts";

/** The code that the app shows at a time. `at`: Unix milliseconds. */
export const totpCode = (secret: string, at: number): string =>
  codeOfStep(secret, Math.floor(at / 30_000));
