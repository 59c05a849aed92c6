// As the documentation of @hcaptcha/loader shows it, with the address of the script.
import { hCaptchaLoader } from "@hcaptcha/loader";

const { gate, sitekey } = window.settings;
hCaptchaLoader({ scriptSource: gate + "/1/api.js", sentry: false })
  .then(() => window.hcaptcha.render("root", { sitekey, size: "invisible" }))
  .then((widget) => window.hcaptcha.execute(widget, { async: true }))
  .then(({ response }) => window.told("success", response));
