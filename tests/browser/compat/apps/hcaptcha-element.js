// The element of @hcaptcha/vanilla-hcaptcha as its documentation shows it, with the address of the script.
import "@hcaptcha/vanilla-hcaptcha";

const { gate, sitekey } = window.settings;
const element = document.createElement("h-captcha");
for (const name of ["verified", "statechange"]) {
  // `token` is of its own event; an event of ours would come without one.
  element.addEventListener(name, (event) => window.told(event.token ? "success" : "strange", event.token ?? name));
}
element.setAttribute("sitekey", sitekey);
element.setAttribute("jsapi", gate + "/1/api.js");
element.setAttribute("sentry", "false");
document.getElementById("root").append(element);
