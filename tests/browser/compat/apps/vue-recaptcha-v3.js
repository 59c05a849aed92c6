// As the documentation of vue-recaptcha-v3 shows it, with the address of the script.
import { createApp, h } from "vue";
import { VueReCaptcha, useReCaptcha } from "vue-recaptcha-v3";

const { gate, sitekey } = window.settings;
const form = {
  setup() {
    const { executeRecaptcha, recaptchaLoaded } = useReCaptcha();
    recaptchaLoaded()
      .then(() => executeRecaptcha("submit"))
      .then((token) => window.told("success", token));
    return () => h("form");
  },
};
const loaderOptions = { customUrl: gate + "/recaptcha/api.js" };
createApp(form).use(VueReCaptcha, { siteKey: sitekey, loaderOptions }).mount("#root");
