/** The laws of accounts, for those of one process. */
import { accountLaws } from "./account.laws.ts";

accountLaws("local", () => undefined);
