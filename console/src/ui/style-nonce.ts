/** The content security policy allows the style elements of the page with this nonce only. Radix creates some. */
import { setNonce } from "get-nonce";

export const styleNonce = document.querySelector("script")?.nonce;
if (styleNonce) setNonce(styleNonce);
