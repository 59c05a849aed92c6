// Our own component in strict mode; the page can change its properties and take it away.
import { AgentGate } from "@agentgate/react";
import { StrictMode, useRef, useState } from "react";
import { createRoot } from "react-dom/client";

function Form() {
  const widget = useRef(null);
  const [properties, change] = useState({});
  const [round, tick] = useState(0);
  Object.assign(window, { widget, change, tick });
  if (properties.gone) return null;
  return (
    <form method="post" action="/received">
      <AgentGate
        ref={widget}
        className="gate"
        src={`${window.settings.gate}/sdk/v1/agentgate.js`}
        sitekey={window.settings.sitekey}
        {...properties}
        onToken={(token) => window.told("success", token, round)}
        onError={(error) => window.told("error", error.code)}
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
