// Fetches a card and verifies it by @a2a-js/sdk 1.x: verify.mjs BASE JWK
import { createRequire } from 'node:module';

const need = createRequire(process.env.MAS_A2A_JS + '/x.js');
console.debug = () => {};
const [base, jwk] = process.argv.slice(2);
const key = JSON.parse(jwk);
const card = await new (need('@a2a-js/sdk/client').DefaultAgentCardResolver)().resolve(base);
await need('@a2a-js/sdk').verifyAgentCardSignature(async (kid) => ({ [key.kid]: key })[kid])(card);
console.log(card.name);
