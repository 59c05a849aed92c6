// A form as the documentation of react-google-recaptcha shows it.
import ReCAPTCHA from "react-google-recaptcha";
import { createRef } from "react";
import { createRoot } from "react-dom/client";

const widget = createRef();
window.widget = widget;

createRoot(document.getElementById("root")).render(
  <form method="post" action="/received">
    <ReCAPTCHA
      ref={widget}
      sitekey={window.settings.sitekey}
      size={window.settings.size}
      onChange={(token) => window.told("success", token)}
      onErrored={() => window.told("error")}
      onExpired={() => window.told("expired")}
    />
    <button type="submit">Send</button>
  </form>,
);
