// A form as the documentation of @marsidev/react-turnstile shows it.
import { Turnstile } from "@marsidev/react-turnstile";
import { StrictMode, useRef } from "react";
import { createRoot } from "react-dom/client";

function Form() {
  const widget = useRef(null);
  window.widget = widget;
  return (
    <form method="post" action="/received">
      <Turnstile
        ref={widget}
        siteKey={window.settings.sitekey}
        options={{ action: window.settings.action, cData: "order-17", ...window.settings.options }}
        onSuccess={(token) => window.told("success", token)}
        onError={(code) => window.told("error", code)}
        onExpire={() => window.told("expired")}
      />
      <button type="submit">Send</button>
    </form>
  );
}

createRoot(document.getElementById("root")).render(
  <StrictMode>
    <Form />
  </StrictMode>,
);
