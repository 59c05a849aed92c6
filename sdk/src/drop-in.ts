// drop-in.js: agentgate.js for a page that was written for Turnstile, reCAPTCHA or hCaptcha. One file, because such
// pages and packages use the global as soon as the script has loaded.

import "./entry";
import "./compat/entry";
