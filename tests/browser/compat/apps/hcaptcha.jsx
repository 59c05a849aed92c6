// A form as the documentation of @hcaptcha/react-hcaptcha shows it. Its error reports would go to its vendor.
import HCaptcha from "@hcaptcha/react-hcaptcha";
import { createRef } from "react";
import { createRoot } from "react-dom/client";

const widget = createRef();
window.widget = widget;
const root = createRoot(document.getElementById("root"));
window.unmount = () => root.unmount();

root.render(
  <form method="post" action="/received">
    <HCaptcha
      ref={widget}
      sentry={false}
      sitekey={window.settings.sitekey}
      size={window.settings.size}
      onLoad={() => window.told("load")}
      onVerify={(token) => window.told("success", token)}
      onError={(code) => window.told("error", code)}
      onExpire={() => window.told("expired")}
    />
    <button type="submit">Send</button>
  </form>,
);
