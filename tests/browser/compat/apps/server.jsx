// Both components rendered to text, where there is no window.
import { AgentGate as ReactGate } from "@agentgate/react";
import { AgentGate as VueGate } from "@agentgate/vue";
import { renderToString } from "react-dom/server";
import { createSSRApp, h } from "vue";
import { renderToString as renderVue } from "vue/server-renderer";

const given = { src: "https://gate.example/sdk/v1/agentgate.js", sitekey: "site_ab12cd34" };
console.log(renderToString(<ReactGate {...given} className="gate" />));
renderVue(createSSRApp({ render: () => h(VueGate, { ...given, class: "gate" }) })).then((text) => console.log(text));
