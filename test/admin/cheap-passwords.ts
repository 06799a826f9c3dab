/**
 * Preloaded into a gateway process: argon2id with its lowest cost. `passwords.test.ts` holds the cost in production.
 */
const { hash } = Bun.password;
Bun.password.hash = (password) =>
  hash(password, { algorithm: "argon2id", memoryCost: 8, timeCost: 1 });
