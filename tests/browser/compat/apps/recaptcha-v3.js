// As the documentation of recaptcha-v3 shows it, with the address of the script.
import { load } from "recaptcha-v3";

const { gate, sitekey, address = "/recaptcha/api.js" } = window.settings;
load(sitekey, { customUrl: gate + address })
  .then((recaptcha) => recaptcha.execute("submit"))
  .then((token) => window.told("success", token));
